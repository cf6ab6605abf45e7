package commute.grpc;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientStreamTracer;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

/** Gives one call its id and stamps its phases as the library traces them. */
final class Watch extends ClientStreamTracer.Factory implements ClientInterceptor {
    private static final Metadata.Key<String> ID = Metadata.Key.of("x-commute-id", Metadata.ASCII_STRING_MARSHALLER);

    private final Trace trace;
    private final long id;
    private final Openings openings;
    private volatile boolean answered;
    private volatile ClientCall<?, ?> call;

    Watch(Trace trace, long id, Openings openings) {
        this.trace = trace;
        this.id = id;
        this.openings = openings;
    }

    /** Whether the call's status is the server's word. */
    boolean answered() {
        return answered;
    }

    void cancel() {
        call.cancel("given up", null);
    }

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        ClientCall<Q, R> made = next.newCall(method, options.withStreamTracerFactory(this));
        call = made;
        return new SimpleForwardingClientCall<>(made) {
            @Override
            public void start(Listener<R> listener, Metadata headers) {
                headers.put(ID, Long.toString(id));
                super.start(listener, headers);
            }
        };
    }

    @Override
    public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
        return new ClientStreamTracer() {
            @Override
            public void streamCreated(Attributes transport, Metadata headers) {
                openings.carries(transport, trace);
                trace.attempt();
            }

            @Override
            public void outboundMessageSent(int number, long wireBytes, long bytes) {
                trace.stamp(Phase.REQUEST_SENT);
            }

            @Override
            public void inboundHeaders() {
                trace.stamp(Phase.FIRST_BYTE);
            }

            @Override
            public void inboundTrailers(Metadata trailers) {
                answered = true;
                if (!trace.has(Phase.FIRST_BYTE)) {
                    trace.stamp(Phase.FIRST_BYTE);
                }
            }
        };
    }
}
