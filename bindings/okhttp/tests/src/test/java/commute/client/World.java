package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.net.ServerSocketFactory;
import okhttp3.Call;
import okhttp3.Headers;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.RecordedRequest;
import okhttp3.tls.HandshakeCertificates;
import okhttp3.tls.HeldCertificate;
import okio.ByteString;

/** A server and a client, plain or with commute, and a transcript of all that can be seen of their calls. */
final class World implements AutoCloseable {
    /** What carries the calls of a client: OkHttp as it is, or the engine. */
    enum Carrier {
        PLAIN,
        ENGINE
    }

    /** What the server supports. */
    enum Wire {
        H1(Protocol.HTTP_1_1),
        H2(Protocol.HTTP_2, Protocol.HTTP_1_1);

        final List<Protocol> protocols;

        Wire(Protocol... protocols) {
            this.protocols = Arrays.asList(protocols);
        }
    }

    /** Kept, or the loggers would forget their level. */
    private static final List<Logger> QUIET = Arrays.asList(
            Logger.getLogger("okhttp3.OkHttpClient"),
            Logger.getLogger("mockwebserver3.MockWebServer"),
            Logger.getLogger("okhttp3.mockwebserver.MockWebServer"));

    static {
        QUIET.forEach(logger -> logger.setLevel(Level.OFF));
    }

    final Carrier carrier;
    final Wire wire;
    final MockWebServer server = new MockWebServer();
    final Recorder recorder = new Recorder();
    final List<String> transcript = new ArrayList<>();
    private final List<OkHttpClient> clients = new ArrayList<>();

    World(Carrier carrier, Wire wire) {
        this.carrier = carrier;
        this.wire = wire;
    }

    /** Starts the server with the usual certificate. */
    World start() throws IOException {
        return start(0, Certificates.LOCALHOST);
    }

    World start(int port, HeldCertificate own, X509Certificate... intermediates) throws IOException {
        HandshakeCertificates.Builder identity = new HandshakeCertificates.Builder();
        identity.heldCertificate(own, intermediates);
        // For clients that must show a certificate.
        identity.addTrustedCertificate(Certificates.ROOT.certificate());
        server.setServerSocketFactory(new ReusingFactory());
        server.useHttps(identity.build().sslSocketFactory(), false);
        server.setProtocols(wire.protocols);
        server.start(InetAddress.getByName("localhost"), port);
        return this;
    }

    /** Creates the builder of a client that trusts the server and whose events are written down. */
    OkHttpClient.Builder builder() {
        HandshakeCertificates trust =
                new HandshakeCertificates.Builder().addTrustedCertificate(Certificates.ROOT.certificate()).build();
        return TestClients.trusting(trust).readTimeout(10, TimeUnit.SECONDS).eventListener(recorder);
    }

    Call.Factory client() {
        return client(builder());
    }

    Call.Factory client(OkHttpClient.Builder builder) {
        if (carrier == Carrier.ENGINE) {
            return TestClients.withCommute(builder);
        }
        OkHttpClient client = builder.build();
        clients.add(client);
        return client;
    }

    Request.Builder request(String path) {
        return new Request.Builder().url(server.url(path));
    }

    void enqueue(MockResponse... responses) {
        for (MockResponse response : responses) {
            server.enqueue(response);
        }
    }

    /** Makes a call and writes down all that can be seen of it. */
    void call(Call.Factory client, Request request) {
        call(client.newCall(request));
    }

    void call(Call call) {
        try (Response response = call.execute()) {
            describe(response);
            String body = describe(response.body().bytes());
            say("-> body " + body + ", type " + response.body().contentType());
            say("-> trailers " + trailers(response));
            requireEngine(response);
        } catch (IOException failure) {
            say("-> " + describe(failure));
        }
        events();
    }

    /** Makes a call and writes down only its outcome, and how many requests the server has seen. */
    void outcome(Call.Factory client, Request request) {
        String outcome;
        try (Response response = client.newCall(request).execute()) {
            outcome = response.code() + " " + response.body().string();
        } catch (IOException failure) {
            String name = failure.getClass().getName();
            outcome = name.matches(Difference.BROKEN) ? "broken" : failure.getClass().getSimpleName();
        }
        say(outcome + " after " + server.getRequestCount());
    }

    /** Writes down what listeners heard. */
    void events() {
        List<String> events = recorder.take();
        // Another thread tells it, before or after what the call's own thread tells.
        if (events.remove("canceled")) {
            events.add("canceled");
        }
        transcript.addAll(events);
    }

    /** Writes down what the server was asked. */
    void requests() throws InterruptedException {
        say("-> server: " + server.getRequestCount() + " requests");
        for (int i = server.getRequestCount(); i > 0; i--) {
            RecordedRequest request = server.takeRequest(5, TimeUnit.SECONDS);
            if (request == null) {
                break;
            }
            Headers.Builder headers = request.getHeaders().newBuilder();
            // The connection is the engine's own, and the server adds the pseudo-headers' names.
            headers.removeAll("Connection").removeAll("Transfer-Encoding");
            say("-> server: " + request.getMethod() + " " + request.getPath() + " " + headers(headers.build()) + " "
                    + describe(request.getBody().readByteArray()));
        }
    }

    void say(String line) {
        transcript.add(line.replace(":" + server.getPort(), ":PORT"));
    }

    private void describe(Response response) {
        say("-> " + response.code() + " '" + response.message() + "' " + response.protocol());
        say("-> headers " + headers(response.headers()));
        say("-> url " + response.request().url());
        List<String> from = new ArrayList<>();
        for (Response prior = response.priorResponse(); prior != null; prior = prior.priorResponse()) {
            from.add(prior.code() + " " + headers(prior.headers()));
        }
        say("-> prior " + from);
        say("-> network " + code(response.networkResponse()) + ", cache " + code(response.cacheResponse()));
        if (response.networkResponse() != null) {
            say("-> sent " + headers(response.networkResponse().request().headers()));
            say("-> network " + headers(response.networkResponse().headers()));
        }
        say("-> times " + (response.sentRequestAtMillis() > 0
                && response.receivedResponseAtMillis() >= response.sentRequestAtMillis()));
        if (response.handshake() != null) {
            List<String> names = new ArrayList<>();
            for (Certificate peer : response.handshake().peerCertificates()) {
                names.add(((X509Certificate) peer).getSubjectX500Principal().getName());
            }
            say("-> handshake " + names + " " + response.handshake().localCertificates());
        }
    }

    private void requireEngine(Response response) {
        RouteReport report = carrier == Carrier.ENGINE ? Commute.report(response) : null;
        if (report != null) {
            assertTrue(report.byEngine(), () -> "not by the engine: " + report);
        }
    }

    private static String code(Response response) {
        return response == null ? "none" : String.valueOf(response.code());
    }

    private static String trailers(Response response) throws IOException {
        try {
            return headers(response.trailers());
        } catch (IllegalStateException fromTheCache) {
            return fromTheCache.getMessage();
        }
    }

    /** Returns the headers by name, in lower case; values in their order. */
    static String headers(Headers headers) {
        TreeSet<String> names = new TreeSet<>();
        for (String name : headers.names()) {
            names.add(name.toLowerCase(Locale.ROOT));
        }
        StringBuilder text = new StringBuilder();
        for (String name : names) {
            text.append(name).append('=').append(headers.values(name)).append(' ');
        }
        return text.toString();
    }

    static String describe(byte[] bytes) {
        return bytes.length < 64
                ? "'" + new String(bytes, java.nio.charset.StandardCharsets.UTF_8) + "'"
                : bytes.length + " bytes " + ByteString.of(bytes).sha256().hex();
    }

    static String describe(Throwable failure) {
        String text = failure.getClass().getName();
        Throwable cause = failure.getCause();
        boolean isTls = failure instanceof javax.net.ssl.SSLException;
        return isTls && cause != null ? text + " by " + cause.getClass().getName() : text;
    }

    @Override
    public void close() throws IOException {
        // A later server may get this one's port.
        LenientOrigins.clear();
        for (OkHttpClient client : clients) {
            client.connectionPool().evictAll();
        }
        try {
            server.shutdown();
        } catch (IOException stillThrottled) {
            // MockWebServer 4 does not wait for a connection that it throttles.
        }
    }

    /** Lets another server follow on the same port at once. */
    private static final class ReusingFactory extends ServerSocketFactory {
        @Override
        public ServerSocket createServerSocket() throws IOException {
            return new ServerSocket() {
                @Override
                public void setReuseAddress(boolean on) throws SocketException {
                    super.setReuseAddress(true);
                }
            };
        }

        @Override
        public ServerSocket createServerSocket(int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ServerSocket createServerSocket(int port, int backlog) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ServerSocket createServerSocket(int port, int backlog, InetAddress address) {
            throw new UnsupportedOperationException();
        }
    }
}
