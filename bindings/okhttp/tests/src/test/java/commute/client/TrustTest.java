package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import android.net.http.X509TrustManagerExtensions;
import java.io.IOException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.X509TrustManager;
import okhttp3.Call;
import okhttp3.CertificatePinner;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.SocketPolicy;
import okhttp3.tls.HandshakeCertificates;
import okhttp3.tls.HeldCertificate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Certificates that the app accepts and refuses, by each of its three ways to check. */
final class TrustTest {
    static Stream<Arguments> refused() {
        List<HeldCertificate> wrong = Arrays.asList(
                Certificates.OF_A_STRANGER,
                Certificates.SELF_SIGNED,
                Certificates.EXPIRED,
                Certificates.NOT_YET_VALID,
                Certificates.OF_ANOTHER_NAME,
                // Its intermediate is not sent.
                Certificates.BELOW_INTERMEDIATE);
        String[] names = {"stranger", "self-signed", "expired", "not yet valid", "another name", "gap in the chain"};
        Stream.Builder<Arguments> cases = Stream.builder();
        for (World.Wire wire : World.Wire.values()) {
            for (int i = 0; i < names.length; i++) {
                cases.add(Arguments.of(wire, names[i], wrong.get(i)));
            }
        }
        return cases.build();
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("refused")
    void aWrongCertificateIsRefused(World.Wire wire, String name, HeldCertificate wrong) throws Exception {
        Differential.same(wire, world -> {
            world.start(0, wrong).enqueue(Mock.ok("never"));
            world.call(world.client(), world.request("/").build());
            world.say("-> server: " + world.server.getRequestCount());
        });
    }

    /** The first connection is fine; then the server comes back with a wrong certificate. */
    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("refused")
    void aWrongCertificateIsRefusedOnALaterConnection(World.Wire wire, String name, HeldCertificate wrong)
            throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("fine"));
            Call.Factory client = world.client();
            Request request = world.request("/").build();
            world.call(client, request);
            int port = world.server.getPort();
            world.server.shutdown();
            try (World later = new World(world.carrier, wire)) {
                later.start(port, wrong).enqueue(Mock.ok("never"));
                world.call(client, request);
                world.say("-> server: " + later.server.getRequestCount());
            }
        }, Difference.LATE_CONNECT);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void anIntermediateIsFollowedAndTheRootAppended(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start(0, Certificates.BELOW_INTERMEDIATE, Certificates.intermediate()).enqueue(Mock.ok("fine"));
            world.call(world.client(), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aVerifierThatAcceptsAnyNameIsAsked(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start(0, Certificates.OF_ANOTHER_NAME).enqueue(Mock.ok("fine"));
            HostnameVerifier any = (host, session) -> {
                world.say("-> verifier: " + host + " " + chain(session));
                return true;
            };
            world.call(world.client(world.builder().hostnameVerifier(any)), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aVerifierThatRefusesIsObeyed(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("never"));
            HostnameVerifier none = (host, session) -> false;
            world.call(world.client(world.builder().hostnameVerifier(none)), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void pinsOfTheServerAndOfItsRootHold(World.Wire wire) throws Exception {
        for (HeldCertificate pinned : Arrays.asList(Certificates.LOCALHOST, Certificates.ROOT)) {
            Differential.same(wire, world -> {
                world.start().enqueue(Mock.ok("fine"));
                String pin = CertificatePinner.pin(pinned.certificate());
                world.call(world.client(world.builder().certificatePinner(pins(pin))), world.request("/").build());
            });
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aPinThatDoesNotMatchIsObeyed(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("never"));
            String pin = CertificatePinner.pin(Certificates.SELF_SIGNED.certificate());
            world.call(world.client(world.builder().certificatePinner(pins(pin))), world.request("/").build());
        });
    }

    /** The server comes back with another certificate, which is fine but for the pin. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aPinHoldsOnALaterConnection(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("fine"));
            String pin = CertificatePinner.pin(Certificates.LOCALHOST.certificate());
            Call.Factory client = world.client(world.builder().certificatePinner(pins(pin)));
            Request request = world.request("/").build();
            world.call(client, request);
            int port = world.server.getPort();
            world.server.shutdown();
            try (World later = new World(world.carrier, wire)) {
                later.start(port, Certificates.RSA).enqueue(Mock.ok("never"));
                world.call(client, request);
                world.say("-> server: " + later.server.getRequestCount());
            }
        }, Difference.LATE_CONNECT);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aTrustManagerThatThrowsAcceptsNothing(World.Wire wire) throws Exception {
        X509TrustManager throwing = trustManager(chain -> {
            throw new CertificateException("not today");
        });
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("never"));
            world.call(world.client(trusting(world, throwing)), world.request("/").build());
        });
    }

    /** Clients with different ways to check never share a connection, or an answer. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void whatOneClientAcceptsAnotherStillRefuses(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start(0, Certificates.OF_ANOTHER_NAME).enqueue(Mock.ok("fine"), Mock.ok("never"));
            OkHttpClient.Builder builder = world.builder();
            Request request = world.request("/").build();
            world.call(world.client(builder.build().newBuilder().hostnameVerifier((host, session) -> true)), request);
            world.call(world.client(builder), request);
        });
    }

    @Test
    void eachRealHandshakeIsCheckedOnce() throws Exception {
        AtomicInteger checks = new AtomicInteger();
        X509TrustManager counting = trustManager(chain -> checks.incrementAndGet());
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().enqueue(Mock.ok("1"), Mock.ok("2"), Mock.ok("3"));
            Call.Factory client = world.client(trusting(world, counting));
            for (int i = 0; i < 3; i++) {
                world.call(client, world.request("/").build());
            }
            assertEquals(1, checks.get(), world.transcript.toString());
        }
    }

    /** OkHttp asks the verifier of each connection, whether its session is resumed or not. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aVerifierThatChangesItsMindIsObeyedWhereASessionIsResumed(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            AtomicBoolean accepts = new AtomicBoolean(true);
            Call.Factory client = resuming(world, world.builder().hostnameVerifier((host, session) -> accepts.get()));
            accepts.set(false);
            world.call(client, world.request("/").build());
            world.say("-> server: " + world.server.getRequestCount());
        }, Difference.LATE_CONNECT);
    }

    /** The JDK asks the trust manager in full handshakes only. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aTrustManagerThatChangesItsMindIsObeyedWhereASessionIsResumed(World.Wire wire) throws Exception {
        Differential.differ(Difference.RESUMED_IS_CHECKED, wire, world -> {
            AtomicBoolean accepts = new AtomicBoolean(true);
            X509TrustManager changing = trustManager(chain -> {
                if (!accepts.get()) {
                    throw new CertificateException("no longer");
                }
            });
            Call.Factory client = resuming(world, trusting(world, changing));
            accepts.set(false);
            world.outcome(client, world.request("/").build());
        }, "200 fine after 3", "SSLHandshakeException after 2");
    }

    /** Returns a client whose next connection resumes a session, as its last one did. */
    private static Call.Factory resuming(World world, OkHttpClient.Builder builder) throws IOException {
        world.start();
        for (int i = 0; i < 3; i++) {
            world.enqueue(Mock.ok("fine").setSocketPolicy(SocketPolicy.DISCONNECT_AT_END));
        }
        Call.Factory client = world.client(builder);
        for (boolean resumed : new boolean[] {false, true}) {
            try (Response response = client.newCall(world.request("/").build()).execute()) {
                assertEquals("fine", response.body().string());
                if (world.carrier == World.Carrier.ENGINE) {
                    assertEquals(resumed, Commute.report(response).resumed());
                }
            }
        }
        world.recorder.take();
        return client;
    }

    /** The engine's thread checks certificates, so it must not wait for a call through the engine. */
    @Test
    void aTrustManagerMayMakeCallsItself() throws Exception {
        AtomicReference<OkHttpClient> self = new AtomicReference<>();
        AtomicReference<RouteReport> inner = new AtomicReference<>();
        try (MockWebServer revocation = new MockWebServer();
                World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            revocation.enqueue(Mock.ok("not revoked"));
            String url = revocation.url("/").toString().replace("http:", "https:");
            HandshakeCertificates identity =
                    new HandshakeCertificates.Builder().heldCertificate(Certificates.LOCALHOST).build();
            revocation.useHttps(identity.sslSocketFactory(), false);
            X509TrustManager asking = trustManager(chain -> {
                if (inner.get() == null) {
                    try (Response response = TestClients.withCommute(world.builder())
                            .newCall(new Request.Builder().url(url).build())
                            .execute()) {
                        inner.set(Commute.report(response));
                    } catch (IOException failed) {
                        throw new CertificateException(failed);
                    }
                }
            });
            world.start().enqueue(Mock.ok("fine"));
            world.call(world.client(trusting(world, asking)), world.request("/").build());
            assertTrue(world.transcript.contains("-> 200 '' h2"), world.transcript.toString());
            assertEquals("plain.in_trust_check", inner.get().code());
        }
    }

    /** It waits for what the engine can do only after the check. */
    @Test
    void aTrustManagerThatWaitsForACallOnAnotherThreadAcceptsNothing() throws Exception {
        AtomicReference<Call.Factory> client = new AtomicReference<>();
        AtomicInteger checks = new AtomicInteger();
        int limitMs = TrustContext.limitMs;
        TrustContext.limitMs = 300;
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            Request request = world.start().request("/").build();
            X509TrustManager waiting = trustManager(chain -> {
                if (checks.incrementAndGet() > 1) {
                    return;
                }
                Thread other = new Thread(() -> {
                    try {
                        client.get().newCall(request).execute().close();
                    } catch (IOException failed) {
                        // Nobody listens.
                    }
                });
                other.start();
                try {
                    other.join();
                } catch (InterruptedException tooLong) {
                    throw new CertificateException(tooLong);
                }
            });
            world.enqueue(Mock.ok("the other's"), Mock.ok("fine"));
            client.set(world.client(trusting(world, waiting)));
            world.call(client.get(), request);
            assertEquals(
                    "-> javax.net.ssl.SSLHandshakeException by java.util.concurrent.TimeoutException",
                    world.transcript.get(0));
            world.transcript.clear();
            TrustContext.limitMs = limitMs;
            world.call(client.get(), request);
            assertTrue(world.transcript.get(0).startsWith("-> 200 "), world.transcript.toString());
        } finally {
            TrustContext.limitMs = limitMs;
        }
    }

    /** Android's trust manager knows the host, and refuses to check without it where it matters. */
    @Test
    void aTrustManagerThatKnowsTheHostIsAskedWithIt() throws Exception {
        HostAware hostAware = new HostAware();
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().enqueue(Mock.ok("fine"));
            world.call(world.client(trusting(world, hostAware)), world.request("/").build());
            assertEquals("localhost", hostAware.host);
            assertTrue(world.transcript.contains("-> handshake [CN=localhost, CN=root] []"),
                    world.transcript.toString());
            hostAware.refuses = true;
            world.transcript.clear();
            Commute.disconnect();
            world.call(world.client(trusting(world, hostAware)), world.request("/").build());
            assertEquals(
                    "-> javax.net.ssl.SSLHandshakeException by java.security.cert.CertificateException",
                    world.transcript.get(0));
        }
    }

    /** As Android's {@code RootTrustManager}. */
    private static final class HostAware implements X509TrustManager, X509TrustManagerExtensions.HostAware {
        volatile String host;
        volatile boolean refuses;

        @Override
        public List<X509Certificate> trusted(X509Certificate[] chain, String host) throws CertificateException {
            if (refuses) {
                throw new CertificateException("not for this host");
            }
            this.host = host;
            return Arrays.asList(chain[0], Certificates.ROOT.certificate());
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
            throw new CertificateException("asked without the host");
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String authType) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }

    private interface Check {
        void of(X509Certificate[] chain) throws CertificateException;
    }

    private static X509TrustManager trustManager(Check check) {
        return new X509TrustManager() {
            @Override
            public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
                check.of(chain);
            }

            @Override
            public void checkClientTrusted(X509Certificate[] chain, String authType) {}

            @Override
            public X509Certificate[] getAcceptedIssuers() {
                return new X509Certificate[] {Certificates.ROOT.certificate()};
            }
        };
    }

    private static OkHttpClient.Builder trusting(World world, X509TrustManager trustManager) throws Exception {
        javax.net.ssl.SSLContext context = javax.net.ssl.SSLContext.getInstance("TLS");
        context.init(null, new javax.net.ssl.TrustManager[] {trustManager}, null);
        return world.builder().sslSocketFactory(context.getSocketFactory(), trustManager);
    }

    private static CertificatePinner pins(String pin) {
        return new CertificatePinner.Builder().add("localhost", pin).build();
    }

    private static String chain(javax.net.ssl.SSLSession session) {
        try {
            return Collections.singletonList(session.getPeerCertificates()[0]).get(0).getPublicKey().getAlgorithm();
        } catch (IOException unverified) {
            return unverified.toString();
        }
    }
}
