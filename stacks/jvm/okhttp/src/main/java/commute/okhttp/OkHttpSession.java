package commute.okhttp;

import commute.driver.Credentials;
import commute.driver.Message;
import commute.driver.Received;
import commute.driver.Seeded;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import commute.driver.Witness;
import java.io.IOException;
import java.net.Proxy;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Collections;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.ConnectionPool;
import okhttp3.Dispatcher;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.internal.http2.ConnectionShutdownException;
import okhttp3.internal.http2.StreamResetException;
import okio.BufferedSink;

/** One origin. The client has the connections, its SSLContext the tickets. */
final class OkHttpSession implements Stack.Session {
    private final Setup setup;
    private final Credentials credentials;
    private final Witness witness;
    private final Connections connections;
    private OkHttpClient client;

    OkHttpSession(Setup setup, SocketFactory sockets) throws IOException, GeneralSecurityException {
        this.setup = setup;
        credentials = new Credentials(setup);
        witness = new Witness(credentials.trust());
        connections = new Connections(witness);
        Dispatcher dispatcher = new Dispatcher();
        dispatcher.setMaxRequests(Integer.MAX_VALUE);
        dispatcher.setMaxRequestsPerHost(Integer.MAX_VALUE);
        boolean h1 = setup.protocol.equals("h1");
        client = new OkHttpClient.Builder()
                .protocols(h1 ? Collections.singletonList(Protocol.HTTP_1_1) : Arrays.asList(Protocol.HTTP_2, Protocol.HTTP_1_1))
                .socketFactory(sockets)
                .dispatcher(dispatcher)
                .eventListenerFactory(connections)
                .proxy(Proxy.NO_PROXY)
                .retryOnConnectionFailure(false)
                .followRedirects(false)
                .followSslRedirects(false)
                .connectTimeout(0, TimeUnit.MILLISECONDS)
                .readTimeout(0, TimeUnit.MILLISECONDS)
                .writeTimeout(0, TimeUnit.MILLISECONDS)
                .build();
        reconnect(Stack.Reconnect.COLD);
    }

    @Override
    public void reconnect(Stack.Reconnect mode) throws GeneralSecurityException {
        OkHttpClient old = client;
        OkHttpClient.Builder next = old.newBuilder().connectionPool(new ConnectionPool());
        if (mode == Stack.Reconnect.COLD) {
            next.sslSocketFactory(credentials.newContext(witness).getSocketFactory(), witness);
        }
        client = next.build();
        connections.retire(old.connectionPool());
    }

    @Override
    public Stack.Exchange prepare(Step step) {
        Request.Builder request = new Request.Builder()
                .header("x-commute-id", Long.toString(step.id))
                .header("accept-encoding", step.message == null ? "identity" : step.message.contentEncoding);
        switch (step.kind) {
            case CALL:
                byte[] body = step.body.getBytes(StandardCharsets.UTF_8);
                return new Exchange(request.url(setup.url + "/echo").post(new Bytes("application/json", body, body.length)), null);
            case EXCHANGE:
                if (step.message.isCompressed()) {
                    request.header("content-encoding", step.message.contentEncoding);
                }
                return new Exchange(request.url(setup.url + "/exchange/" + step.message.kind), step.message);
            case PUT:
                byte[] file = Seeded.file(step.bytes);
                return new Exchange(request.url(setup.url + "/upload").put(new Bytes("application/octet-stream", file, step.bytes)), null);
            default:
                return new Exchange(request.url(setup.url + "/bytes/" + step.bytes), null);
        }
    }

    @Override
    public void close() {
        client.dispatcher().cancelAll();
        client.connectionPool().evictAll();
        client.dispatcher().executorService().shutdown();
    }

    private final class Exchange implements Stack.Exchange, Callback {
        private final Request.Builder request;
        /** Null when the request has its body. */
        private final Message message;
        private ConnectionPool pool;
        private Trace trace;
        private Call call;

        Exchange(Request.Builder request, Message message) {
            this.request = request;
            this.message = message;
        }

        @Override
        public void start(Trace trace) throws Exception {
            this.trace = trace;
            if (message != null) {
                byte[] body = message.encode(trace);
                request.post(new Bytes(message.contentType, body, body.length));
            }
            pool = client.connectionPool();
            call = client.newCall(request.tag(Trace.class, trace).build());
            call.enqueue(this);
        }

        @Override
        public void abort() {
            call.cancel();
        }

        @Override
        public void onResponse(Call call, Response response) {
            Received received = new Received();
            trace.status(response.code());
            try {
                received.readAll(response.body().byteStream());
                received.mustHave(response.body().contentLength());
                trace.ended(received);
            } catch (IOException failure) {
                failed(failure);
            }
            response.close();
            connections.released(pool);
        }

        @Override
        public void onFailure(Call call, IOException failure) {
            failed(failure);
            connections.released(pool);
        }

        private void failed(IOException failure) {
            if (failure instanceof StreamResetException || failure instanceof ConnectionShutdownException) {
                trace.failed("reset", failure.toString());
            } else {
                trace.failed(failure);
            }
        }
    }

    /** A body as an app has it: in memory, sent at once. */
    private static final class Bytes extends RequestBody {
        private final MediaType type;
        private final byte[] bytes;
        private final int length;

        Bytes(String type, byte[] bytes, int length) {
            this.type = MediaType.get(type);
            this.bytes = bytes;
            this.length = length;
        }

        @Override
        public MediaType contentType() {
            return type;
        }

        @Override
        public long contentLength() {
            return length;
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            sink.write(bytes, 0, length);
        }
    }
}
