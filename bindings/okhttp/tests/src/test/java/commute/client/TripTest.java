package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.tls.HandshakeCertificates;
import okhttp3.tls.HeldCertificate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An engine that OkHttp has to do without turns itself off. */
final class TripTest {
    /** So many requests an engine has before it may turn itself off, if more than one in fifty failed. */
    private static final int REQUESTS = 50;

    @AfterEach
    void reset() {
        Commute.networkChanged(new byte[] {0}, false);
    }

    @Test
    void whatOnlyTheEngineCannotDoTurnsItOff() throws Exception {
        try (MockWebServer server = new MockWebServer()) {
            Call.Factory client = client(server, true);
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals("plain.not_sent", report(client, server).code());
            }
            RouteReport report = report(client, server);
            assertEquals("plain.engine", report.code());
            assertTrue(report.why().contains("turned itself off"), report.why());
        }
    }

    @Test
    void beingOfflineDoesNot() throws Exception {
        try (MockWebServer server = new MockWebServer()) {
            Call.Factory client = client(server, false);
            for (int i = 0; i < REQUESTS; i++) {
                assertTrue(report(client, server).byEngine());
            }
            Commute.networkLost();
            for (int i = 0; i < 10; i++) {
                RouteReport report = report(client, server);
                assertEquals("plain.engine", report.code());
                assertTrue(report.why().contains("no network"), report.why());
            }
            Commute.networkChanged(new byte[] {1}, false);
            RouteReport report = report(client, server);
            assertTrue(report.byEngine(), report.why());
        }
    }

    private static Call.Factory client(MockWebServer server, boolean onlyOldSuites) throws IOException {
        HeldCertificate own = new HeldCertificate.Builder()
                .rsa2048()
                .commonName("localhost")
                .addSubjectAlternativeName("localhost")
                .build();
        SSLSocketFactory sockets = new HandshakeCertificates.Builder().heldCertificate(own).build().sslSocketFactory();
        server.useHttps(onlyOldSuites ? new OldSuites(sockets) : sockets, false);
        server.setDispatcher(new okhttp3.mockwebserver.Dispatcher() {
            @Override
            public MockResponse dispatch(okhttp3.mockwebserver.RecordedRequest request) {
                return Mock.ok("fine");
            }
        });
        server.start(InetAddress.getByName("localhost"), 0);
        return Doors.withCommute(Doors.trusting(
                new HandshakeCertificates.Builder().addTrustedCertificate(own.certificate()).build()));
    }

    private static RouteReport report(Call.Factory client, MockWebServer server) throws IOException {
        try (Response response = client.newCall(new Request.Builder().url(server.url("/")).build()).execute()) {
            assertEquals("fine", response.body().string());
            return Commute.report(response);
        }
    }

    /** A server that knows only what OkHttp still allows and rustls does not. */
    private static final class OldSuites extends SSLSocketFactory {
        private static final String[] SUITES = {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"};

        private final SSLSocketFactory sockets;

        OldSuites(SSLSocketFactory sockets) {
            this.sockets = sockets;
        }

        @Override
        public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
            SSLSocket tls = (SSLSocket) sockets.createSocket(socket, host, port, autoClose);
            tls.setEnabledProtocols(new String[] {"TLSv1.2"});
            tls.setEnabledCipherSuites(SUITES);
            return tls;
        }

        @Override
        public String[] getDefaultCipherSuites() {
            return SUITES;
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return SUITES;
        }

        @Override
        public Socket createSocket(String host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }
}
