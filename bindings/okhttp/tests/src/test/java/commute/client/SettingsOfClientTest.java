package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.StreamHandler;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.X509ExtendedTrustManager;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.Headers;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.SocketPolicy;
import okhttp3.tls.HandshakeCertificates;
import okio.Buffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of a client that the engine must follow, and messages that plain OkHttp takes. */
final class SettingsOfClientTest {
    private static final RequestBody TEXT = RequestBody.create(MediaType.get("text/plain"), "body");

    @Test
    void trailersComeAfterABodyWithALength() throws Exception {
        Differential.same(World.Wire.H2, world -> {
            MockResponse response = Mock.ok("hello").setTrailers(Headers.of("X-Sum", "1"));
            world.start().enqueue(response, Mock.ok("again"));
            Call.Factory client = world.client();
            Call call = client.newCall(world.request("/").build());
            try (Response answer = call.execute()) {
                world.say("-> length " + answer.body().contentLength() + " " + answer.headers());
                world.say("-> " + answer.body().string() + " " + answer.trailers());
            }
            world.events();
            world.call(client, world.request("/").build());
        });
    }

    @ParameterizedTest
    @CsvSource({"H1,true", "H2,true", "H2,false"})
    void aBodyThatBreaksOffFails(World.Wire wire, boolean withLength) throws Exception {
        Differential.same(wire, world -> {
            Buffer bytes = new Buffer().write(HttpTest.bytes(500_000));
            MockResponse response = Mock.response(200).setBody(bytes);
            if (!withLength) {
                response.removeHeader("Content-Length");
            }
            world.start().enqueue(response.setSocketPolicy(SocketPolicy.DISCONNECT_DURING_RESPONSE_BODY));
            world.outcome(world.client(), world.request("/").build());
        });
    }

    @Test
    void aChunkedBodyThatBreaksOffFails() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            MockResponse response = Mock.response(200).setChunkedBody(new Buffer().write(HttpTest.bytes(500_000)), 999);
            world.start().enqueue(response.setSocketPolicy(SocketPolicy.DISCONNECT_DURING_RESPONSE_BODY));
            world.outcome(world.client(), world.request("/").build());
        });
    }

    /** REFUSED_STREAM and INTERNAL_ERROR (RFC 9113 section 7). */
    @ParameterizedTest
    @ValueSource(ints = {7, 2})
    void aClientWithoutRetriesAsksOnce(int code) throws Exception {
        Differential.same(World.Wire.H2, world -> {
            MockResponse reset = new MockResponse().setSocketPolicy(SocketPolicy.RESET_STREAM_AT_START);
            world.start().enqueue(reset.setHttp2ErrorCode(code), Mock.ok("second"));
            Call.Factory client = world.client(world.builder().retryOnConnectionFailure(false));
            try (Response response = client.newCall(world.request("/").build()).execute()) {
                world.say(response.body().string());
            } catch (IOException failure) {
                world.say("failed");
            }
            // The server counts a request after it has reset it.
            world.say("asked " + (world.server.takeRequest(5, TimeUnit.SECONDS) != null));
            world.say("again " + (world.server.takeRequest(300, TimeUnit.MILLISECONDS) != null));
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void evictAllClosesConnections(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("first"), Mock.ok("second"), Mock.ok("third"));
            ConnectionPool pool = new ConnectionPool(5, 5, TimeUnit.MINUTES);
            Call.Factory client = world.client(world.builder().connectionPool(pool));
            world.outcome(client, world.request("/").build());
            world.say(pool.connectionCount() + " connections");
            pool.evictAll();
            world.say(pool.connectionCount() + " connections");
            world.outcome(client, world.request("/").build());
            world.outcome(client, world.request("/").build());
            for (int i = 0; i < 3; i++) {
                world.say("number " + world.server.takeRequest(5, TimeUnit.SECONDS).getSequenceNumber());
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"close", "Upgrade", "keep-alive, close"})
    void aRequestAboutItsConnectionGoesPlainly(String option) throws Exception {
        for (boolean byInterceptor : new boolean[] {false, true}) {
            try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
                world.start().enqueue(Mock.ok("fine"));
                OkHttpClient.Builder builder = world.builder();
                Request.Builder request = world.request("/");
                if (byInterceptor) {
                    builder.addNetworkInterceptor(chain -> chain.proceed(
                            chain.request().newBuilder().header("Connection", option).build()));
                } else {
                    request.header("Connection", option);
                }
                try (Response response = world.client(builder).newCall(request.build()).execute()) {
                    assertTrue(!Commute.report(response).byEngine(), Commute.report(response).toString());
                }
                assertEquals(option, world.server.takeRequest(5, TimeUnit.SECONDS).getHeader("Connection"));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aHostOfANetworkInterceptorArrives(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("fine"));
            OkHttpClient.Builder builder = world.builder().addNetworkInterceptor(chain -> chain.proceed(
                    chain.request().newBuilder().header("Host", "other.example").build()));
            world.outcome(world.client(builder), world.request("/").build());
            Headers sent = world.server.takeRequest(5, TimeUnit.SECONDS).getHeaders();
            world.say(sent.get("Host") + " " + sent.get(":authority"));
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void anInsecureHostIsTrusted(World.Wire wire) throws Exception {
        for (String host : new String[] {"localhost", "other.example"}) {
            Differential.same(wire, world -> {
                world.start(0, Certificates.OF_A_STRANGER).enqueue(Mock.ok("fine"));
                HandshakeCertificates trust =
                        new HandshakeCertificates.Builder()
                                .addTrustedCertificate(Certificates.ROOT.certificate())
                                .addInsecureHost(host)
                                .build();
                world.outcome(world.client(TestClients.trusting(trust)), world.request("/").build());
            });
        }
    }

    @Test
    void anExtendedTrustManagerSeesTheHost() throws Exception {
        AtomicReference<String> seen = new AtomicReference<>();
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().enqueue(Mock.ok("fine"));
            HandshakeCertificates trust = new HandshakeCertificates.Builder()
                    .addTrustedCertificate(Certificates.ROOT.certificate())
                    .build();
            OkHttpClient.Builder builder =
                    world.builder().sslSocketFactory(trust.sslSocketFactory(), new Extended(seen));
            try (Response response = world.client(builder).newCall(world.request("/").build()).execute()) {
                assertTrue(Commute.report(response).byEngine());
            }
            assertEquals("localhost [type=host_name (0), value=localhost] true", seen.get());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"ICY 200 OK"})
    void aGetGoesPlainlyWhereTheEngineCannotReadTheHead(String status) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
            MockResponse odd = Mock.ok("odd").setStatus(status);
            world.start().enqueue(odd, odd, odd, Mock.ok("never"));
            Call.Factory client = world.client();
            // A POST is not sent again.
            Request post = world.request("/").post(TEXT).build();
            assertThrows(java.net.ProtocolException.class, () -> client.newCall(post).execute());
            assertEquals(1, world.server.getRequestCount());
            for (int i = 2; i <= 3; i++) {
                try (Response response = client.newCall(world.request("/").build()).execute()) {
                    assertEquals("plain.malformed_head", Commute.report(response).code());
                    assertEquals("odd", response.body().string());
                }
                assertEquals(i, world.server.getRequestCount());
            }
        }
    }

    @Test
    void aGetIsRepeatedPlainlyWhereTheEngineCannotReadTheHead() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
            MockResponse odd = Mock.ok("odd").setHeaders(Headers.of("Content-Length", "3"));
            odd.setStatus("ICY 200 OK");
            world.start().enqueue(odd, odd, odd);
            try (Response response = world.client().newCall(world.request("/").build()).execute()) {
                assertEquals("odd", response.body().string());
            }
            assertEquals(2, world.server.getRequestCount());
            LenientOrigins.clear();
            Call.Factory once = world.client(world.builder().retryOnConnectionFailure(false));
            assertThrows(IOException.class, () -> once.newCall(world.request("/").build()).execute());
            assertEquals(3, world.server.getRequestCount());
        }
    }

    @Test
    void lengthsThatConflictAreAnError() throws Exception {
        Differential.differ(Difference.CONFLICTING_LENGTHS, World.Wire.H1, world -> {
            for (int i = 0; i < 4; i++) {
                MockResponse two = Mock.response(200).setBody("hello");
                two.setHeaders(Headers.of("Content-Length", "53", "Content-Length", "5"));
                world.enqueue(two);
            }
            world.start();
            Call.Factory client = world.client();
            for (int i = 0; i < 2; i++) {
                try (Response response = client.newCall(world.request("/").build()).execute()) {
                    world.say(response.body().string());
                } catch (IOException refused) {
                    world.say("refused");
                }
            }
        }, "hello, hello", "refused, refused");
    }

    /** By one of two fields, the rest of the body would be the next response. A coding overrides a length (RFC 9112). */
    @ParameterizedTest
    @CsvSource({"Content-Length, 0, refused", "Transfer-Encoding, chunked, read <>"})
    void noPartOfABodyIsTheNextResponse(String name, String value, String outcome) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
            String hidden = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden";
            String body = name.equals("Transfer-Encoding") ? "0\r\n\r\n" + hidden : hidden;
            MockResponse two = Mock.ok(body);
            two.setHeaders(Headers.of("Content-Length", String.valueOf(body.length()), name, value));
            world.start().enqueue(two, Mock.ok("own"));
            Call.Factory client = world.client();
            // A POST is not sent again.
            try (Response response = client.newCall(world.request("/").post(TEXT).build()).execute()) {
                world.say("read <" + response.body().string() + ">");
            } catch (IOException refused) {
                world.say("refused");
            }
            assertEquals(outcome, world.transcript.get(0));
            // The next call must not avoid the engine.
            LenientOrigins.clear();
            try (Response response = client.newCall(world.request("/").build()).execute()) {
                assertTrue(Commute.report(response).byEngine());
                assertEquals("own", response.body().string());
            }
            assertEquals(2, world.server.getRequestCount());
        }
    }

    @Test
    void aSwitchThatNobodyAskedForIsRefused() throws Exception {
        Differential.differ(Difference.UNASKED_101, World.Wire.H1, world -> {
            MockResponse unasked = new MockResponse().setStatus("HTTP/1.1 101 Switching Protocols");
            unasked.setHeaders(Headers.of());
            world.start().enqueue(unasked, unasked);
            try (Response response = world.client().newCall(world.request("/").post(TEXT).build()).execute()) {
                world.say(String.valueOf(response.code()));
            } catch (java.net.ProtocolException refused) {
                world.say("refused");
            }
        }, "101", "refused");
    }

    /** OkHttp's log of frames has those of the server, too. */
    @Test
    void pingsAreNotSentByTheClientsInterval() throws Exception {
        Differential.differ(Difference.NO_PINGS, World.Wire.H2, world -> {
            world.start().enqueue(Mock.ok("late").setHeadersDelay(1, TimeUnit.SECONDS));
            Logger frames = Logger.getLogger("okhttp3.internal.http2.Http2");
            AtomicInteger pings = new AtomicInteger();
            Handler counting = new StreamHandler() {
                @Override
                public synchronized void publish(LogRecord entry) {
                    if (entry.getMessage().contains("PING")) {
                        pings.incrementAndGet();
                    }
                }
            };
            Level before = frames.getLevel();
            frames.setLevel(Level.FINE);
            frames.setUseParentHandlers(false);
            counting.setLevel(Level.FINE);
            frames.addHandler(counting);
            try {
                Call.Factory client = world.client(world.builder().pingInterval(100, TimeUnit.MILLISECONDS));
                world.outcome(client, world.request("/").build());
            } finally {
                frames.removeHandler(counting);
                frames.setLevel(before);
            }
            world.say(pings.get() >= 4 ? "pings" : "none");
        }, "200 late after 1, pings", "200 late after 1, none");
    }

    /** Accepts all, and notes what it was asked with. */
    private static final class Extended extends X509ExtendedTrustManager {
        private final AtomicReference<String> seen;

        Extended(AtomicReference<String> seen) {
            this.seen = seen;
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket) {
            SSLSocket tls = (SSLSocket) socket;
            ExtendedSSLSession session = (ExtendedSSLSession) tls.getHandshakeSession();
            boolean isEmptyAlgorithm = tls.getSSLParameters().getEndpointIdentificationAlgorithm() == null;
            seen.set(session.getPeerHost() + " " + session.getRequestedServerNames() + " " + isEmptyAlgorithm);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
                throws CertificateException {
            throw new CertificateException("JSSE asks with the socket");
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
            throw new CertificateException("JSSE asks with the socket");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String authType) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
