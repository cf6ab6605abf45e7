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
import java.util.Map;

/** Adds the id header to one call and stamps its phases from the library's tracing. */
final class CallTracer extends ClientStreamTracer.Factory implements ClientInterceptor {
    private static final Metadata.Key<String> ID = Metadata.Key.of("x-commute-id", Metadata.ASCII_STRING_MARSHALLER);

    private final Trace trace;
    private final long id;
    private final ConnectionTracker tracker;
    /** Names and values that prove who sends the call. */
    private final Map<String, String> proof;
    private volatile boolean hasServerStatus;
    private volatile ClientCall<?, ?> call;

    CallTracer(Trace trace, long id, ConnectionTracker tracker, Map<String, String> proof) {
        this.trace = trace;
        this.id = id;
        this.tracker = tracker;
        this.proof = proof;
    }

    /** Returns whether the call's status came from the server. */
    boolean hasServerStatus() {
        return hasServerStatus;
    }

    void cancel() {
        call.cancel("cancelled", null);
    }

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        ClientCall<Q, R> newCall = next.newCall(method, options.withStreamTracerFactory(this));
        call = newCall;
        return new SimpleForwardingClientCall<>(newCall) {
            @Override
            public void start(Listener<R> listener, Metadata headers) {
                headers.put(ID, Long.toString(id));
                proof.forEach((name, value) -> headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
                super.start(listener, headers);
            }
        };
    }

    @Override
    public ClientStreamTracer newClientStreamTracer(ClientStreamTracer.StreamInfo info, Metadata headers) {
        return new ClientStreamTracer() {
            @Override
            public void streamCreated(Attributes transport, Metadata headers) {
                tracker.streamCreated(transport, trace);
                trace.countAttempt();
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
                hasServerStatus = true;
                if (!trace.isStamped(Phase.FIRST_BYTE)) {
                    trace.stamp(Phase.FIRST_BYTE);
                }
            }
        };
    }
}
