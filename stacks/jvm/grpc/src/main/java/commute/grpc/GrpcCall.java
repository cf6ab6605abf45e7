package commute.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import commute.driver.ErrorClassifier;
import commute.driver.ReceivedBody;
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

/** One RPC: starts it, sends its messages, and ends its trace. */
final class GrpcCall implements Stack.Call {
    static final int CHUNK_BYTES = 16 << 10;

    private final Step step;
    private final Supplier<Channel> channel;
    private final Supplier<ConnectionTracker> tracker;
    /** The request of Echo and Chat; else null. */
    private final EchoRequest message;
    /** The requests of Upload. */
    private final List<Chunk> chunks = new ArrayList<>();
    private Trace trace;
    private CallTracer tracer;

    GrpcCall(Step step, Supplier<Channel> channel, Supplier<ConnectionTracker> tracker) throws JSONException {
        this.step = step;
        this.channel = channel;
        this.tracker = tracker;
        message = step.body == null ? null : message(step.body);
        if (step.kind == Step.Kind.PUT) {
            byte[] file = Seeded.atLeast(step.bytes);
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
        tracer = new CallTracer(trace, step.id, tracker.get());
        BenchGrpc.BenchStub stub = BenchGrpc.newStub(channel.get()).withInterceptors(tracer);
        switch (step.kind) {
            case CALL:
                stub.echo(message, new ReplyObserver<>(message.getSerializedSize()));
                break;
            case GET:
                DownloadRequest request = DownloadRequest.newBuilder().setBytes(step.bytes).build();
                stub.download(request, new DownloadObserver(request.getSerializedSize()));
                break;
            case PUT:
                stub.upload(new UploadObserver<>());
                break;
            case EXCHANGE:
                byte[] encoded = step.message.encode(trace);
                ClientCalls.asyncUnaryCall(
                        stub.getChannel().newCall(BytesMarshaller.method(step.message.kind), stub.getCallOptions()), encoded, new ExchangeObserver(encoded.length));
                break;
            default:
                stub.chat(new ChatObserver<>());
        }
    }

    @Override
    public void abort() {
        tracer.cancel();
    }

    private abstract class CallObserver<Q, R> implements ClientResponseObserver<Q, R> {
        @Override
        public void beforeStart(ClientCallStreamObserver<Q> request) {}

        @Override
        public void onError(Throwable failure) {
            Status status = Status.fromThrowable(failure);
            if (tracer.hasServerStatus()) {
                trace.status(status.getCode().value());
                trace.fail("status", status.getCode() + " " + status.getDescription());
            } else {
                trace.fail(errorKind(status), ErrorClassifier.describe(failure));
            }
        }
    }

    /** Keeps the replies, which are encoded again for their digest after the call. */
    private class ReplyObserver<Q, R extends MessageLite> extends CallObserver<Q, R> {
        final List<R> replies = new ArrayList<>();
        private final long requestBytes;

        ReplyObserver(long requestBytes) {
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
            trace.complete(this::content);
        }

        ReceivedBody content() {
            ReceivedBody received = new ReceivedBody();
            replies.forEach(reply -> received.add(reply.toByteArray()));
            return received;
        }
    }

    private final class ExchangeObserver extends CallObserver<byte[], byte[]> {
        private final ReceivedBody received = new ReceivedBody();
        private final long requestBytes;

        ExchangeObserver(long requestBytes) {
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
            trace.complete(received);
        }
    }

    /** Counts the file's bytes, not the messages that carry them. */
    private final class DownloadObserver extends ReplyObserver<DownloadRequest, Chunk> {
        DownloadObserver(long requestBytes) {
            super(requestBytes);
        }

        @Override
        ReceivedBody content() {
            ReceivedBody received = new ReceivedBody();
            replies.forEach(chunk -> received.add(chunk.getData().toByteArray()));
            return received;
        }
    }

    private final class UploadObserver<R extends MessageLite> extends ReplyObserver<Chunk, R> {
        private int sent;

        UploadObserver() {
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

    /** Keeps one message in flight. */
    private final class ChatObserver<R extends MessageLite> extends ReplyObserver<EchoRequest, R> {
        private ClientCallStreamObserver<EchoRequest> request;

        ChatObserver() {
            super((long) step.messages * message.getSerializedSize());
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<EchoRequest> request) {
            this.request = request;
            request.setOnReadyHandler(new Runnable() {
                private boolean started;

                @Override
                public void run() {
                    if (!started) {
                        started = true;
                        sendNext();
                    }
                }
            });
        }

        @Override
        public void onNext(R reply) {
            super.onNext(reply);
            sendNext();
        }

        private void sendNext() {
            if (replies.size() < step.messages) {
                request.onNext(message);
            } else {
                request.onCompleted();
            }
        }
    }

    /** Classifies a failure that the server did not report. */
    private String errorKind(Status status) {
        String causeKind = status.getCause() == null ? "other" : ErrorClassifier.classify(status.getCause());
        if (!causeKind.equals("other")) {
            return causeKind;
        }
        boolean sent = trace.isStamped(Phase.REQUEST_SENT);
        switch (status.getCode()) {
            case UNAVAILABLE:
                return sent ? "reset" : "connect";
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
