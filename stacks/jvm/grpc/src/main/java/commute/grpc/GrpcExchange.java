package commute.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import commute.driver.Failure;
import commute.driver.Received;
import commute.driver.Seeded;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.v1.BenchGrpc;
import commute.v1.Echo.Chunk;
import commute.v1.Echo.DownloadRequest;
import commute.v1.Echo.EchoRequest;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.json.JSONException;
import org.json.JSONObject;

/** One RPC: starts it, feeds it, and ends its trace. */
final class GrpcExchange implements Stack.Exchange {
    static final int CHUNK_BYTES = 16 << 10;

    private final Step step;
    private final Supplier<Channel> channel;
    private final Supplier<Openings> openings;
    /** Of Echo and Chat. */
    private final EchoRequest message;
    /** Of Upload. */
    private final List<Chunk> chunks = new ArrayList<>();
    private Trace trace;
    private Watch watch;

    GrpcExchange(Step step, Supplier<Channel> channel, Supplier<Openings> openings) throws JSONException {
        this.step = step;
        this.channel = channel;
        this.openings = openings;
        message = step.body == null ? null : message(step.body);
        if (step.kind == Step.Kind.PUT) {
            byte[] file = Seeded.file(step.bytes);
            for (int at = 0; at < step.bytes; at += CHUNK_BYTES) {
                int count = Math.min(CHUNK_BYTES, step.bytes - at);
                chunks.add(Chunk.newBuilder().setData(ByteString.copyFrom(file, at, count)).build());
            }
        }
    }

    private static EchoRequest message(String body) throws JSONException {
        JSONObject json = new JSONObject(body);
        return EchoRequest.newBuilder()
                .setStartTs(json.optLong("start_ts"))
                .setPadding(json.optString("padding"))
                .build();
    }

    @Override
    public void start(Trace trace) throws Exception {
        this.trace = trace;
        watch = new Watch(trace, step.id, openings.get());
        BenchGrpc.BenchStub stub = BenchGrpc.newStub(channel.get()).withInterceptors(watch);
        switch (step.kind) {
            case CALL:
                stub.echo(message, new Replies<>(message.getSerializedSize()));
                break;
            case GET:
                DownloadRequest wish = DownloadRequest.newBuilder().setBytes(step.bytes).build();
                stub.download(wish, new Download(wish.getSerializedSize()));
                break;
            case PUT:
                stub.upload(new Upload<>());
                break;
            case EXCHANGE:
                byte[] encoded = step.message.encode(trace);
                ClientCalls.asyncUnaryCall(
                        stub.getChannel().newCall(ByteMessages.method(step.message.kind), stub.getCallOptions()), encoded, new Echo(encoded.length));
                break;
            default:
                stub.chat(new Chat<>());
        }
    }

    @Override
    public void abort() {
        watch.cancel();
    }

    private abstract class Outcome<Q, R> implements ClientResponseObserver<Q, R> {
        @Override
        public void beforeStart(ClientCallStreamObserver<Q> request) {}

        @Override
        public void onError(Throwable failure) {
            Status status = Status.fromThrowable(failure);
            if (watch.answered()) {
                trace.status(status.getCode().value());
                trace.failed("status", status.getCode() + " " + status.getDescription());
            } else {
                trace.failed(kind(status), Failure.words(failure));
            }
        }
    }

    /** Keeps the replies; they are encoded again for their digest when the call is over. */
    private class Replies<Q, R extends MessageLite> extends Outcome<Q, R> {
        final List<R> replies = new ArrayList<>();
        private final long requestBytes;

        Replies(long requestBytes) {
            this.requestBytes = requestBytes;
        }

        @Override
        public void onNext(R reply) {
            replies.add(reply);
        }

        @Override
        public void onCompleted() {
            trace.status(Status.Code.OK.value());
            trace.requestBytes(requestBytes);
            trace.ended(this::content);
        }

        Received content() {
            Received received = new Received();
            replies.forEach(reply -> received.add(reply.toByteArray()));
            return received;
        }
    }

    private final class Echo extends Outcome<byte[], byte[]> {
        private final Received received = new Received();
        private final long requestBytes;

        Echo(long requestBytes) {
            this.requestBytes = requestBytes;
        }

        @Override
        public void onNext(byte[] reply) {
            trace.stamp(Phase.RECEIVED);
            received.add(reply);
        }

        @Override
        public void onCompleted() {
            trace.status(Status.Code.OK.value());
            trace.requestBytes(requestBytes);
            trace.ended(received);
        }
    }

    /** The file counts, not the messages it comes in. */
    private final class Download extends Replies<DownloadRequest, Chunk> {
        Download(long requestBytes) {
            super(requestBytes);
        }

        @Override
        Received content() {
            Received received = new Received();
            replies.forEach(chunk -> received.add(chunk.getData().toByteArray()));
            return received;
        }
    }

    private final class Upload<R extends MessageLite> extends Replies<Chunk, R> {
        private int sent;

        Upload() {
            super(step.bytes);
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<Chunk> request) {
            request.setOnReadyHandler(() -> {
                while (request.isReady() && sent < chunks.size()) {
                    request.onNext(chunks.get(sent++));
                }
                if (sent == chunks.size()) {
                    sent++;
                    request.onCompleted();
                }
            });
        }
    }

    /** One message in flight. */
    private final class Chat<R extends MessageLite> extends Replies<EchoRequest, R> {
        private ClientCallStreamObserver<EchoRequest> request;

        Chat() {
            super((long) step.messages * message.getSerializedSize());
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<EchoRequest> request) {
            this.request = request;
            request.setOnReadyHandler(new Runnable() {
                private boolean begun;

                @Override
                public void run() {
                    if (!begun) {
                        begun = true;
                        next();
                    }
                }
            });
        }

        @Override
        public void onNext(R reply) {
            super.onNext(reply);
            next();
        }

        private void next() {
            if (replies.size() < step.messages) {
                request.onNext(message);
            } else {
                request.onCompleted();
            }
        }
    }

    /** Of a failure on this side of the wire. */
    private String kind(Status status) {
        String ofCause = status.getCause() == null ? "other" : Failure.kind(status.getCause());
        if (!ofCause.equals("other")) {
            return ofCause;
        }
        boolean begun = trace.has(Phase.REQUEST_SENT);
        switch (status.getCode()) {
            case UNAVAILABLE:
                return begun ? "reset" : "connect";
            case CANCELLED:
                return "reset";
            case INTERNAL:
            case UNKNOWN:
            case RESOURCE_EXHAUSTED:
                return "protocol";
            default:
                return "other";
        }
    }
}
