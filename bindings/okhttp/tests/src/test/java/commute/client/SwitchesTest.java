package commute.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.util.Collections;
import java.util.concurrent.CountDownLatch;
import javax.net.SocketFactory;
import okhttp3.Call;
import okhttp3.Dns;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.Dispatcher;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.RecordedRequest;
import okio.Buffer;
import okio.BufferedSink;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Calls that fall back, and say why. */
final class SwitchesTest {
    private static LabServer server;

    @BeforeAll
    static void start() throws Exception {
        server = new LabServer();
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
    }

    @AfterEach
    void reset() {
        Commute.setEnabled(true);
        Commute.setEnabled(HttpUrl.get(server.url("/")), true);
        Commute.setHttp3Percent(100);
        Commute.networkChanged(new byte[] {0}, false);
    }

    @Test
    void byDefaultTheEngineIsUsed() throws Exception {
        assertEquals("engine", code(builder(), request().build()));
    }

    @Test
    void commuteIsSwitchedOffAndOn() throws Exception {
        OkHttpClient.Builder builder = builder();
        Commute.setEnabled(false);
        assertEquals("plain.switched_off", code(builder, request().build()));
        Commute.setEnabled(true);
        assertEquals("engine", code(builder, request().build()));
    }

    @Test
    void anOriginIsSwitchedOffAndOn() throws Exception {
        HttpUrl origin = HttpUrl.get(server.url("/any"));
        Commute.setEnabled(origin, false);
        assertEquals("plain.origin_switched_off", code(builder(), request().build()));
        Commute.setEnabled(origin, true);
        Commute.setEnabled(HttpUrl.get("https://localhost:1"), false);
        assertEquals("engine", code(builder(), request().build()));
        Commute.setEnabled(HttpUrl.get("https://localhost:1"), true);
    }

    @Test
    void http3IsAllowedForAPercentageOfInstallations() throws Exception {
        Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
        OkHttpClient.Builder builder = builder();
        Commute.setHttp3Percent(0);
        assertEquals(2, report(builder, request().build()).httpVersion());
        assertEquals("switched_off", report(builder, request().build()).code());
        Commute.setHttp3Percent(100);
        TestClients.awaitHttp3(TestClients.withCommute(builder()), request().build()).body().bytes();
        Commute.configure(new Settings.Builder().build());
        assertThrows(IllegalArgumentException.class, () -> Commute.setHttp3Percent(101));
    }

    @Test
    void disconnectingOpensNewConnections() throws Exception {
        Call.Factory client = TestClients.withCommute(builder());
        int[] ports = new int[3];
        for (int i = 0; i < ports.length; i++) {
            try (Response response = client.newCall(request().build()).execute()) {
                response.body().bytes();
                ports[i] = Commute.report(response).localPort();
            }
            if (i == 1) {
                Commute.disconnect();
            }
        }
        assertEquals(ports[0], ports[1]);
        assertNotEquals(ports[1], ports[2]);
    }

    @Test
    void callsUnderWayGoOnWhenDisconnected() throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch disconnected = new CountDownLatch(1);
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().server.setDispatcher(new Dispatcher() {
                @Override
                public MockResponse dispatch(RecordedRequest request) throws InterruptedException {
                    arrived.countDown();
                    disconnected.await();
                    return Mock.response(200).setBody(new Buffer().write(HttpTest.bytes(1_000_000)));
                }
            });
            Thread disconnecting = new Thread(() -> {
                try {
                    arrived.await();
                } catch (InterruptedException ended) {
                    return;
                }
                Commute.disconnect();
                disconnected.countDown();
            });
            disconnecting.start();
            Request post = world.request("/").post(UploadTest.body(500_000, -1, true)).build();
            try (Response response = world.client().newCall(post).execute()) {
                assertTrue(Commute.report(response).byEngine());
                assertArrayEquals(HttpTest.bytes(1_000_000), response.body().bytes());
            }
            disconnecting.join();
        }
    }

    @Test
    void anotherNetworkGetsAnotherTcpConnectionAndNoneNone() throws Exception {
        Call.Factory client = TestClients.withCommute(builder());
        byte[][] networks = {{1}, {1}, {2}};
        int[] ports = new int[networks.length];
        for (int i = 0; i < ports.length; i++) {
            Commute.networkChanged(networks[i], false);
            ports[i] = report(client, request().build()).localPort();
        }
        assertEquals(ports[0], ports[1]);
        assertNotEquals(ports[1], ports[2]);
        Commute.networkLost();
        assertEquals("plain.engine", report(client, request().build()).code());
        // An engine that starts now knows it, too.
        assertEquals("plain.engine", code(builder(), request().build()));
        Commute.networkChanged(networks[0], false);
        assertTrue(report(client, request().build()).byEngine());
    }

    @Test
    void aConnectionOverHttp3MovesToAnotherNetwork() throws Exception {
        Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
        Call.Factory client = TestClients.withCommute(builder());
        // Where data is metered, TCP is not opened just to learn.
        Commute.networkChanged(new byte[] {3}, true);
        TestClients.awaitHttp3(client, request().build()).body().bytes();
        Commute.configure(new Settings.Builder().build());
        Commute.networkChanged(new byte[] {4}, true);
        RouteReport moved = report(client, request().build());
        assertEquals(3, moved.httpVersion());
        assertTrue(moved.reused());
    }

    @Test
    void anEngineThatHasEndedIsDoneWithout() throws Exception {
        OkHttpClient.Builder builder = builder();
        Call.Factory client = TestClients.withCommute(builder);
        // Leaves a socket that is idle.
        report(client, request().build());
        // Handles are given in turn, so these are all.
        for (long handle = 1; handle < 1_000_000; handle++) {
            Native.endEngine(handle);
        }
        Request upload = new Request.Builder()
                .url(server.url("/upload"))
                .put(UploadTest.body(100_000, 100_000, false))
                .build();
        try (Response response = client.newCall(upload).execute()) {
            assertEquals(200, response.code());
            assertEquals("plain.engine", Commute.report(response).code());
        }
        Commute.disconnect();
        try (Response response = client.newCall(upload).execute()) {
            assertEquals(200, response.code());
            assertTrue(Commute.report(response).byEngine());
        }
    }

    @Test
    void aDnsOfItsOwnIsUsedPlainly() throws Exception {
        Dns dns = host -> Collections.singletonList(java.net.InetAddress.getLoopbackAddress());
        assertEquals("plain.dns", code(builder().dns(dns), request().build()));
    }

    @Test
    void aSocketFactoryOfItsOwnIsUsedPlainly() throws Exception {
        SocketFactory own = new SocketFactory() {
            @Override
            public Socket createSocket() {
                return new Socket();
            }

            @Override
            public Socket createSocket(String host, int port) {
                throw new UnsupportedOperationException();
            }

            @Override
            public Socket createSocket(String host, int port, java.net.InetAddress local, int localPort) {
                throw new UnsupportedOperationException();
            }

            @Override
            public Socket createSocket(java.net.InetAddress host, int port) {
                throw new UnsupportedOperationException();
            }

            @Override
            public Socket createSocket(java.net.InetAddress host, int port, java.net.InetAddress l, int localPort) {
                throw new UnsupportedOperationException();
            }
        };
        assertEquals("plain.socket_factory", code(builder().socketFactory(own), request().build()));
    }

    @Test
    void whatOnlyPlainSocketsCanDoGoesPlainly() throws Exception {
        assertEquals("plain.host_header", code(builder(), request().header("Host", "another.example").build()));
        assertEquals("plain.upgrade", code(builder(), request().header("Upgrade", "x").build()));
        RequestBody duplex = new RequestBody() {
            @Override
            public MediaType contentType() {
                return null;
            }

            @Override
            public boolean isDuplex() {
                return true;
            }

            @Override
            public void writeTo(BufferedSink sink) throws IOException {
                sink.close();
            }
        };
        Request request = new Request.Builder().url(server.url("/upload")).put(duplex).build();
        assertEquals("plain.duplex", code(builder(), request));
    }

    @Test
    void whatIsNotEncryptedGoesPlainly() throws Exception {
        try (MockWebServer cleartext = new MockWebServer()) {
            cleartext.enqueue(Mock.ok("fine"));
            Request request = new Request.Builder().url(cleartext.url("/")).build();
            assertEquals("plain.cleartext", code(builder(), request));
        }
    }

    @Test
    void aResponseOfAnotherClientHasNoReport() throws Exception {
        try (Response response = builder().build().newCall(request().build()).execute()) {
            assertNull(Commute.report(response));
        }
    }

    private static OkHttpClient.Builder builder() throws Exception {
        return TestClients.trusting(server.trust());
    }

    private static Request.Builder request() {
        return new Request.Builder().url(server.url("/health"));
    }

    private static String code(OkHttpClient.Builder builder, Request request) throws IOException {
        RouteReport report = report(builder, request);
        return report.byEngine() ? "engine" : report.code();
    }

    private static RouteReport report(OkHttpClient.Builder builder, Request request) throws IOException {
        return report(TestClients.withCommute(builder), request);
    }

    private static RouteReport report(Call.Factory client, Request request) throws IOException {
        try (Response response = client.newCall(request).execute()) {
            response.body().bytes();
            return Commute.report(response);
        }
    }
}
