package commute.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import commute.driver.Auth;
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
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.json.JSONException;
import org.json.JSONObject;

/** One RPC: starts it, sends its messages, and ends its trace. */
final class GrpcCall implements Stack.Call {
    static final int CHUNK_BYTES = 16 << 10;

    /** Null if calls need not prove who sends them. */
    private final Auth auth;
    private final Step step;
    private final Supplier<Channel> channel;
    private final Supplier<ConnectionTracker> tracker;
    /** The request of Echo and Chat; else null. */
    private final EchoRequest message;
    /** The requests of Upload. */
    private final List<Chunk> chunks = new ArrayList<>();
    private Trace trace;
    private CallTracer tracer;
    /** Null if the call carries no proof. */
    private Auth.Proof proof;

    GrpcCall(Auth auth, Step step, Supplier<Channel> channel, Supplier<ConnectionTracker> tracker) throws JSONException {
        this.auth = auth;
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
        switch (step.kind) {
            case CALL:
                stub(BenchGrpc.getEchoMethod(), message).echo(message, new ReplyObserver<>(message.getSerializedSize()));
                break;
            case GET:
                DownloadRequest request = DownloadRequest.newBuilder().setBytes(step.bytes).build();
                stub(BenchGrpc.getDownloadMethod(), request).download(request, new DownloadObserver(request.getSerializedSize()));
                break;
            case PUT:
                stub(BenchGrpc.getUploadMethod(), null).upload(new UploadObserver<>());
                break;
            case FETCH:
                send(step.fetch.path.substring(1), step.fetch.body == null ? new byte[0] : step.fetch.body);
                break;
            case EXCHANGE:
            case SUBMIT:
                if (step.chunkBytes > 0) {
                    submitParts(step.message.encodeParts(trace, step.chunkBytes));
                } else {
                    sendEncoded(step.message.encode(trace));
                }
                break;
            default:
                stub(BenchGrpc.getChatMethod(), null).chat(new ChatObserver<>());
        }
    }

    /** Returns a stub for a call that sends this message first, or none to prove. */
    private BenchGrpc.BenchStub stub(MethodDescriptor<?, ?> method, MessageLite sent) throws GeneralSecurityException {
        return BenchGrpc.newStub(tracedChannel(method, sent == null || auth == null ? null : sent.toByteArray()));
    }

    /** Returns the channel for one call. {@code sent} is its only message; null for a stream. */
    private Channel tracedChannel(MethodDescriptor<?, ?> method, byte[] sent) throws GeneralSecurityException {
        Map<String, String> headers = new TreeMap<>();
        if (step.fetch != null) {
            headers.putAll(step.fetch.headers);
        }
        if (auth != null) {
            String authority = channel.get().authority();
            String path = "/" + method.getFullMethodName();
            proof = sent == null
                    ? auth.proveStream("POST", authority, path, trace)
                    : auth.prove("POST", authority, path, sent, sent.length, trace);
            headers.putAll(proof.headers);
        }
        if (step.kind == Step.Kind.PUT && chunks.isEmpty() && auth != null && auth.signs()) {
            chunks.add(Chunk.getDefaultInstance()); // whose code says that it is the last
        }
        tracer = new CallTracer(trace, step.id, tracker.get(), headers);
        return ClientInterceptors.intercept(channel.get(), tracer);
    }

    /** Returns the code of a stream's next chunk, empty if it is not signed. */
    private ByteString code(byte[] chunk, boolean last) {
        return proof == null ? ByteString.EMPTY : ByteString.copyFrom(proof.code(chunk, last));
    }

    private void sendEncoded(byte[] encoded) throws GeneralSecurityException {
        String service = step.kind == Step.Kind.EXCHANGE ? "Exchange/" : "Submit/";
        send("commute.bench.v1." + service + step.message.kind, encoded);
    }

    /** Sends an encoded message to a unary method. */
    private void send(String name, byte[] encoded) throws GeneralSecurityException {
        MethodDescriptor<byte[], byte[]> method = BytesMarshaller.method(name, MethodDescriptor.MethodType.UNARY);
        ClientCalls.asyncUnaryCall(tracedChannel(method, encoded).newCall(method, CallOptions.DEFAULT), encoded, new BytesObserver(encoded.length));
    }

    private void submitParts(List<byte[]> parts) throws GeneralSecurityException {
        MethodDescriptor<byte[], byte[]> method =
                BytesMarshaller.method("commute.bench.v1.Submit/DiagStream", MethodDescriptor.MethodType.CLIENT_STREAMING);
        ClientCalls.asyncClientStreamingCall(tracedChannel(method, null).newCall(method, CallOptions.DEFAULT), new PartsObserver(parts));
    }

    /** Returns a {@code Part} of {@code submit.proto}, encoded. It has the fields of a {@code Chunk}. */
    private byte[] part(byte[] data, boolean last) {
        return Chunk.newBuilder().setData(ByteString.copyFrom(data)).setCode(code(data, last)).build().toByteArray();
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

    private class BytesObserver extends CallObserver<byte[], byte[]> {
        private final ReceivedBody received = new ReceivedBody();
        private final long requestBytes;

        BytesObserver(long requestBytes) {
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

    private final class PartsObserver extends BytesObserver {
        private final List<byte[]> parts;
        private int sent;

        PartsObserver(List<byte[]> parts) {
            super(parts.stream().mapToLong(part -> part.length).sum());
            this.parts = parts;
        }

        @Override
        public void beforeStart(ClientCallStreamObserver<byte[]> request) {
            request.setOnReadyHandler(() -> {
                while (request.isReady() && sent < parts.size()) {
                    request.onNext(part(parts.get(sent), ++sent == parts.size()));
                }
                if (sent == parts.size()) {
                    sent++;
                    request.onCompleted();
                }
            });
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
                    Chunk chunk = chunks.get(sent++);
                    ByteString code = code(chunk.getData().toByteArray(), sent == chunks.size());
                    request.onNext(code.isEmpty() ? chunk : chunk.toBuilder().setCode(code).build());
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
