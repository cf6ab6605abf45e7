package commute.okhttp;

import commute.driver.Credentials;
import commute.driver.Message;
import commute.driver.ReceivedBody;
import commute.driver.Seeded;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import commute.driver.RecordingTrustManager;
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
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.internal.http2.ConnectionShutdownException;
import okhttp3.internal.http2.StreamResetException;
import okio.BufferedSink;

/** All origins, as one client of an app. The client owns the connections, its SSLContext the tickets. */
final class OkHttpSession implements Stack.Session {
    private final Setup setup;
    private final Credentials credentials;
    private final RecordingTrustManager trustManager;
    private final ConnectionTracker tracker;
    /** Null if OkHttp's own sockets carry the calls. */
    private final Carrier carrier;
    private OkHttpClient client;

    OkHttpSession(Setup setup, SocketFactory socketFactory, Carrier carrier) throws IOException, GeneralSecurityException {
        this.setup = setup;
        this.carrier = carrier;
        credentials = new Credentials(setup);
        trustManager = new RecordingTrustManager(credentials.trustManager());
        tracker = new ConnectionTracker(trustManager);
        Dispatcher dispatcher = new Dispatcher();
        dispatcher.setMaxRequests(Integer.MAX_VALUE);
        dispatcher.setMaxRequestsPerHost(Integer.MAX_VALUE);
        boolean h1 = setup.protocol.equals("h1");
        OkHttpClient.Builder builder = new OkHttpClient.Builder()
                .protocols(h1 ? Collections.singletonList(Protocol.HTTP_1_1) : Arrays.asList(Protocol.HTTP_2, Protocol.HTTP_1_1))
                .socketFactory(socketFactory)
                .dispatcher(dispatcher)
                .proxy(Proxy.NO_PROXY)
                .retryOnConnectionFailure(false)
                .followRedirects(false)
                .followSslRedirects(false)
                .connectTimeout(0, TimeUnit.MILLISECONDS)
                .readTimeout(0, TimeUnit.MILLISECONDS)
                .writeTimeout(0, TimeUnit.MILLISECONDS);
        client = (carrier == null ? builder.eventListenerFactory(tracker) : carrier.install(builder)).build();
        reconnect(Stack.Reconnect.COLD);
    }

    @Override
    public void reconnect(Stack.Reconnect mode) throws GeneralSecurityException {
        OkHttpClient old = client;
        OkHttpClient.Builder next = old.newBuilder().connectionPool(new ConnectionPool());
        if (mode == Stack.Reconnect.COLD) {
            next.sslSocketFactory(credentials.newContext(trustManager).getSocketFactory(), trustManager);
        }
        client = next.build();
        tracker.retire(old.connectionPool());
        if (carrier != null) {
            carrier.disconnect();
        }
    }

    @Override
    public Stack.Call prepare(Step step) {
        String origin = step.origin == null ? setup.url : setup.origins.get(step.origin);
        Request.Builder request = new Request.Builder()
                .header("x-commute-id", Long.toString(step.id))
                .header("accept-encoding", step.message == null ? "identity" : step.message.contentEncoding);
        switch (step.kind) {
            case CALL:
                byte[] body = step.body.getBytes(StandardCharsets.UTF_8);
                return new OkHttpCall(request, "POST", origin + "/echo", new BytesBody("application/json", body, body.length), null);
            case EXCHANGE:
            case SUBMIT:
                if (step.message.isCompressed()) {
                    request.header("content-encoding", step.message.contentEncoding);
                }
                String route = step.kind == Step.Kind.EXCHANGE ? "/exchange/" : "/submit/";
                return new OkHttpCall(request, "POST", origin + route + step.message.kind, null, step.message);
            case FETCH:
                step.fetch.headers.forEach(request::header);
                byte[] content = step.fetch.bodyOfMethod();
                BytesBody own = content == null ? null : new BytesBody(step.fetch.headers.get("content-type"), content, content.length);
                return new OkHttpCall(request, step.fetch.method, origin + step.fetch.path, own, null);
            case PUT:
                byte[] file = Seeded.atLeast(step.bytes);
                return new OkHttpCall(request, "PUT", origin + "/upload", new BytesBody("application/octet-stream", file, step.bytes), null);
            default:
                return new OkHttpCall(request, "GET", origin + "/bytes/" + step.bytes, null, null);
        }
    }

    @Override
    public void close() {
        client.dispatcher().cancelAll();
        client.connectionPool().evictAll();
        if (carrier != null) {
            carrier.disconnect();
        }
        client.dispatcher().executorService().shutdown();
    }

    private final class OkHttpCall implements Stack.Call, Callback {
        private final Request.Builder request;
        private final String method;
        private final HttpUrl url;
        /** Null if the request has none, or until the message is encoded. */
        private BytesBody body;
        /** The message to send; null if the request already has its body. */
        private final Message message;
        private ConnectionPool pool;
        private Trace trace;
        private Call call;

        OkHttpCall(Request.Builder request, String method, String url, BytesBody body, Message message) {
            this.request = request;
            this.method = method;
            this.url = HttpUrl.get(url);
            this.body = body;
            this.message = message;
        }

        @Override
        public void start(Trace trace) throws Exception {
            this.trace = trace;
            if (message != null) {
                byte[] encoded = message.encode(trace);
                body = new BytesBody(message.contentType, encoded, encoded.length);
            }
            if (setup.auth != null) {
                BytesBody sent = body == null ? BytesBody.EMPTY : body;
                setup.auth.prove(method, authority(), target(), sent.bytes, sent.length, trace).headers.forEach(request::header);
            }
            pool = client.connectionPool();
            call = client.newCall(request.url(url).method(method, body).tag(Trace.class, trace).build());
            call.enqueue(this);
        }

        /** Returns the value of host or :authority, as OkHttp makes it. */
        private String authority() {
            String host = url.host().contains(":") ? "[" + url.host() + "]" : url.host();
            return url.port() == HttpUrl.defaultPort(url.scheme()) ? host : host + ":" + url.port();
        }

        /** Returns path and query, as OkHttp sends them. */
        private String target() {
            String query = url.encodedQuery();
            return query == null ? url.encodedPath() : url.encodedPath() + "?" + query;
        }

        @Override
        public void abort() {
            call.cancel();
        }

        @Override
        public void onResponse(Call call, Response response) {
            ReceivedBody received = new ReceivedBody();
            trace.status(response.code());
            try {
                received.readAll(response.body().byteStream());
                received.requireLength(response.body().contentLength());
                trace.complete(received);
            } catch (IOException failure) {
                fail(failure);
            }
            response.close();
            tracker.released(pool);
        }

        @Override
        public void onFailure(Call call, IOException failure) {
            fail(failure);
            tracker.released(pool);
        }

        private void fail(IOException failure) {
            if (failure instanceof StreamResetException || failure instanceof ConnectionShutdownException) {
                trace.fail("reset", failure.toString());
            } else {
                trace.fail(failure);
            }
        }
    }

    /** A body in memory, written at once, as an app would do it. */
    private static final class BytesBody extends RequestBody {
        static final BytesBody EMPTY = new BytesBody("application/octet-stream", new byte[0], 0);

        /** Null for an empty body without one. */
        private final MediaType type;
        private final byte[] bytes;
        private final int length;

        BytesBody(String type, byte[] bytes, int length) {
            this.type = type == null ? null : MediaType.get(type);
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
