package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import okhttp3.Call;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.SocketPolicy;
import okhttp3.tls.HandshakeCertificates;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers behind a proxy, from the beginning and after a redirect. */
final class ProxyTest {
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aProxyThatWorksIsUsed(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            try (MockWebServer proxy = proxy(1)) {
                Call.Factory client = world.client(world.builder().proxy(proxy.toProxyAddress()));
                world.start();
                Request request = world.request("/").build();
                try (Response response = client.newCall(request).execute()) {
                    world.say("-> " + response.code() + " " + response.body().string() + " " + response.protocol());
                    if (world.carrier == World.Carrier.ENGINE) {
                        assertEquals("plain.proxy", Commute.report(response).code());
                    }
                }
                world.events();
                world.say("-> " + proxy.takeRequest().getMethod() + " " + proxy.takeRequest().getPath());
            }
        }, Difference.OTHER_PORT);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aProxyThatIsNotThereFailsTheCall(World.Wire wire) throws Exception {
        // Nobody listens on its port, and no other program gets it.
        try (Socket held = new Socket()) {
            held.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Proxy address = new Proxy(Proxy.Type.HTTP, (InetSocketAddress) held.getLocalSocketAddress());
            Differential.same(wire, world -> {
                world.start();
                world.call(world.client(world.builder().proxy(address)), world.request("/").build());
            });
        }
    }

    @Test
    void noProxyIsNone() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().enqueue(Mock.ok("fine"));
            // It is an error if the call does not go by the engine.
            world.call(world.client(world.builder().proxy(Proxy.NO_PROXY)), world.request("/").build());
        }
    }

    /** As with plain OkHttp, and whatever server the last request went to. */
    @Test
    void aSelectorGetsTheServerWithoutThePath() throws Exception {
        List<String> asked = new ArrayList<>();
        ProxySelector selector = new ProxySelector() {
            @Override
            public List<Proxy> select(URI url) {
                asked.add(url.toString());
                return Collections.singletonList(Proxy.NO_PROXY);
            }

            @Override
            public void connectFailed(URI url, SocketAddress address, IOException failure) {}
        };
        try (World one = new World(World.Carrier.ENGINE, World.Wire.H2);
                World other = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            List<String> expected = new ArrayList<>();
            for (World world : Arrays.asList(one, other, one)) {
                if (expected.size() < 2) {
                    world.start();
                }
                world.server.enqueue(Mock.ok("fine"));
                Request request = world.request("/secret?token=1").build();
                Call.Factory client = world.client(world.builder().proxySelector(selector));
                asked.clear();
                world.call(client, request);
                expected.add("https://" + request.url().host() + ":" + request.url().port() + "/");
                assertEquals(expected.get(expected.size() - 1), asked.get(0));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aRedirectLeadsToAProxy(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            int tunnels = world.carrier == World.Carrier.ENGINE ? 2 : 1;
            try (MockWebServer proxy = proxy(tunnels)) {
                Call.Factory client = world.client(world.builder().proxySelector(only(proxy)));
                MockResponse redirect = Mock.redirect(302, "https://localhost:" + proxy.getPort() + "/there");
                world.start().enqueue(redirect, redirect);
                try (Response response = client.newCall(world.request("/").build()).execute()) {
                    world.say("-> " + response.code() + " " + response.body().string());
                    if (world.carrier == World.Carrier.ENGINE) {
                        assertEquals("plain.proxy", Commute.report(response).code());
                    }
                }
                world.events();
            }
        }, Difference.PROXY_AFTER_REDIRECT);
    }

    /** Else the server would see it twice. */
    @Test
    void aPostThatIsRedirectedToAProxyFails() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2);
                MockWebServer proxy = proxy(1)) {
            Call.Factory client = world.client(world.builder().proxySelector(only(proxy)));
            world.start().enqueue(Mock.redirect(307, "https://localhost:" + proxy.getPort() + "/there"));
            RequestBody body = RequestBody.create(MediaType.get("text/plain"), "body");
            Call call = client.newCall(world.request("/").post(body).build());
            IOException failure = assertThrows(IOException.class, call::execute);
            assertTrue(failure.getMessage().contains("after a redirect to localhost"), failure.toString());
            assertEquals(1, world.server.getRequestCount());
        }
    }

    /** The engine's connections stay open, and must not carry what has a proxy now. */
    @Test
    void aProxyThatIsSetLaterIsUsed() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2);
                MockWebServer proxy = proxy(1)) {
            AtomicReference<Proxy> now = new AtomicReference<>(Proxy.NO_PROXY);
            ProxySelector changing = selector(url -> Collections.singletonList(now.get()));
            Call.Factory client = world.client(world.builder().proxySelector(changing));
            world.start().enqueue(Mock.ok("direct"));
            assertEquals("direct", body(client, world));
            now.set(proxy.toProxyAddress());
            assertEquals("by the proxy", body(client, world));
            assertEquals(1, world.server.getRequestCount());
        }
    }

    /** OkHttp's default selector is Java's, which reads these properties; Android sets them for its networks. */
    @Test
    void theProxyOfTheSystemIsUsed() throws Exception {
        Properties before = (Properties) System.getProperties().clone();
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2);
                MockWebServer proxy = proxy(1)) {
            System.setProperty("https.proxyHost", "localhost");
            System.setProperty("https.proxyPort", String.valueOf(proxy.getPort()));
            System.setProperty("http.nonProxyHosts", "");
            Call.Factory client = world.client(world.builder());
            world.start();
            assertEquals("by the proxy", body(client, world));
            assertEquals(0, world.server.getRequestCount());
        } finally {
            System.setProperties(before);
        }
    }

    @Test
    void aSocksProxyIsUsed() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2);
                ServerSocket socks = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Proxy address = new Proxy(Proxy.Type.SOCKS, socks.getLocalSocketAddress());
            Call call = world.client(world.builder().proxy(address)).newCall(world.start().request("/").build());
            socks.setSoTimeout(10_000);
            AtomicBoolean came = new AtomicBoolean();
            Thread closing = new Thread(() -> {
                try {
                    socks.accept().close();
                    came.set(true);
                } catch (IOException bypassed) {
                    // No connection came in time.
                }
            });
            closing.start();
            assertThrows(IOException.class, () -> call.execute().close());
            closing.join(20_000);
            assertTrue(came.get(), "no connection to the proxy");
            assertEquals(0, world.server.getRequestCount());
        }
    }

    /** OkHttp asks none. */
    @Test
    void aHostThatIsNoneForJavaAsksNoSelector() throws Exception {
        Differential.same(World.Wire.H2, world -> {
            world.start();
            ProxySelector throwing = selector(url -> {
                throw new IllegalStateException("asked for " + url);
            });
            Request request = new Request.Builder().url("https://a_b.invalid/").build();
            world.call(world.client(world.builder().proxySelector(throwing)), request);
        }, Difference.LATE_CONNECT);
    }

    private static String body(Call.Factory client, World world) throws IOException {
        try (Response response = client.newCall(world.request("/").build()).execute()) {
            return response.body().string();
        }
    }

    /** Starts a proxy that is also the server behind it, and answers one request after so many tunnels were opened. */
    private static MockWebServer proxy(int tunnels) throws IOException {
        MockWebServer proxy = new MockWebServer();
        HandshakeCertificates identity =
                new HandshakeCertificates.Builder().heldCertificate(Certificates.LOCALHOST).build();
        proxy.useHttps(identity.sslSocketFactory(), true);
        for (int i = 0; i < tunnels; i++) {
            proxy.enqueue(new MockResponse().setSocketPolicy(SocketPolicy.UPGRADE_TO_SSL_AT_END).clearHeaders());
        }
        proxy.enqueue(Mock.ok("by the proxy"));
        proxy.start(InetAddress.getByName("localhost"), 0);
        return proxy;
    }

    /** Selects a proxy for its own port only. */
    private static ProxySelector only(MockWebServer proxy) {
        return selector(url -> Collections.singletonList(
                url.getPort() == proxy.getPort() ? proxy.toProxyAddress() : Proxy.NO_PROXY));
    }

    private static ProxySelector selector(Function<URI, List<Proxy>> proxies) {
        return new ProxySelector() {
            @Override
            public List<Proxy> select(URI url) {
                return proxies.apply(url);
            }

            @Override
            public void connectFailed(URI url, SocketAddress address, IOException failure) {}
        };
    }
}
