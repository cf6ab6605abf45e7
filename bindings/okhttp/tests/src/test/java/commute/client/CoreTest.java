package commute.client;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import okhttp3.Authenticator;
import okhttp3.Cache;
import okhttp3.CacheControl;
import okhttp3.Call;
import okhttp3.Cookie;
import okhttp3.CookieJar;
import okhttp3.HttpUrl;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What OkHttp does above its sockets: redirects, authenticators, cookies, caches, interceptors. */
final class CoreTest {
    private static final RequestBody TEXT = RequestBody.create(MediaType.get("text/plain"), "body");

    @TempDir
    Path folder;

    static Stream<Arguments> redirects() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of(300, 301, 302, 303, 307, 308)
                        .flatMap(code -> Stream.of("GET", "POST").map(method -> Arguments.of(wire, code, method))));
    }

    @ParameterizedTest(name = "{0} {1} {2}")
    @MethodSource("redirects")
    void redirectsAreFollowed(World.Wire wire, int code, String method) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.redirect(code, "/there"), Mock.ok("there"));
            world.call(world.client(), world.request("/").method(method, method.equals("POST") ? TEXT : null).build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void redirectsAreNotFollowedIfTheClientDoesNot(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.redirect(302, "/there"));
            world.call(world.client(world.builder().followRedirects(false)), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void redirectsEndSomewhere(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start();
            for (int i = 0; i < 21; i++) {
                world.enqueue(Mock.redirect(302, "/" + i));
            }
            world.call(world.client(), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aRedirectLeadsToAnotherOrigin(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            try (World other = new World(world.carrier, wire)) {
                other.start().enqueue(Mock.ok("other"));
                world.start().enqueue(Mock.redirect(302, other.server.url("/there")));
                world.call(world.client(), world.request("/").header("Authorization", "secret").build());
                world.say("-> other: " + World.headers(other.server.takeRequest().getHeaders()
                        .newBuilder().removeAll("Host").removeAll("Connection").removeAll(":authority").build()));
            }
        }, Difference.OTHER_PORT);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aRedirectLeadsAwayFromTls(World.Wire wire) throws Exception {
        for (boolean follows : new boolean[] {true, false}) {
            Differential.same(wire, world -> {
                try (MockWebServer cleartext = new MockWebServer()) {
                    cleartext.enqueue(Mock.ok("cleartext"));
                    world.start().enqueue(Mock.redirect(302, cleartext.url("/there")));
                    Call.Factory client = world.client(world.builder().followSslRedirects(follows));
                    try (Response response = client.newCall(world.request("/").build()).execute()) {
                        world.say("-> " + response.code() + " " + response.body().string() + " "
                                + response.protocol() + " " + (response.handshake() == null));
                    }
                    world.events();
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void anAuthenticatorAnswersA401(World.Wire wire) throws Exception {
        Authenticator basic = (route, response) -> response.request().header("Authorization") != null
                ? null
                : response.request().newBuilder().header("Authorization", "Basic x").build();
        Differential.same(wire, world -> {
            MockResponse asks = Mock.response(401).setHeader("WWW-Authenticate", "Basic realm=\"x\"").setBody("who?");
            world.start().enqueue(asks, Mock.ok("welcome"), asks, asks);
            Call.Factory client = world.client(world.builder().authenticator(basic));
            world.call(client, world.request("/").post(TEXT).build());
            world.call(client, world.request("/never").build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aServerThatAsksToRetryAtOnceIsAskedAgain(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse busy = Mock.response(503).setHeader("Retry-After", "0").setBody("busy");
            world.start().enqueue(busy, Mock.ok("fine"), busy, busy);
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
            world.call(client, world.request("/twice").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aRequestTimeoutOfTheServerIsToldToTheApp(World.Wire wire) throws Exception {
        Differential.differ(Difference.NO_408, wire, world -> {
            world.start().enqueue(Mock.response(408).setBody("late"), Mock.ok("fine"));
            world.outcome(world.client(), world.request("/").build());
        }, "200 fine after 2", "408 late after 1");
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void cookiesAreKeptAndSent(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            List<Cookie> jar = new ArrayList<>();
            CookieJar cookies = new CookieJar() {
                @Override
                public void saveFromResponse(HttpUrl url, List<Cookie> received) {
                    jar.addAll(received);
                    world.say("-> cookies " + received);
                }

                @Override
                public List<Cookie> loadForRequest(HttpUrl url) {
                    return new ArrayList<>(jar);
                }
            };
            MockResponse sets = Mock.redirect(302, "/next").addHeader("Set-Cookie", "a=1; Path=/")
                    .addHeader("Set-Cookie", "b=2; Secure; HttpOnly");
            world.start().enqueue(sets, Mock.ok("next"), Mock.ok("later"));
            Call.Factory client = world.client(world.builder().cookieJar(cookies));
            world.call(client, world.request("/").build());
            world.call(client, world.request("/later").build());
            world.requests();
        });
    }

    static Stream<Arguments> cached() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of("hit", "conditional hit", "changed", "no-store", "vary", "only if cached",
                                "post invalidates", "stale if old", "forced network", "chunked")
                        .map(name -> Arguments.of(wire, name)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("cached")
    void theCacheWorks(World.Wire wire, String name) throws Exception {
        Differential.same(wire, world -> {
            Path directory = folder.resolve(world.carrier + name.replace(' ', '-'));
            try (Cache cache = new Cache(directory.toFile(), 1 << 20)) {
                world.start();
                Call.Factory client = world.client(world.builder().cache(cache));
                cacheCase(world, client, name);
                world.say("-> cache " + cache.hitCount() + " hits, " + cache.networkCount() + " from the network, "
                        + cache.requestCount() + " requests");
            }
        });
    }

    private static void cacheCase(World world, Call.Factory client, String name) throws Exception {
        MockResponse fresh = Mock.ok("one").setHeader("Cache-Control", "max-age=60");
        MockResponse tagged = Mock.ok("one").setHeader("ETag", "\"v1\"");
        Request request = world.request("/").build();
        Request again = request;
        switch (name) {
            case "hit":
                world.enqueue(fresh);
                break;
            case "conditional hit":
                world.enqueue(tagged, Mock.response(304).setHeader("X-New", "1"));
                break;
            case "changed":
                world.enqueue(tagged, Mock.ok("two").setHeader("ETag", "\"v2\""));
                break;
            case "no-store":
                world.enqueue(Mock.ok("one").setHeader("Cache-Control", "no-store"), Mock.ok("two"));
                break;
            case "vary":
                world.enqueue(fresh.setHeader("Vary", "X-Lang"), Mock.ok("two"));
                again = world.request("/").header("X-Lang", "de").build();
                break;
            case "only if cached":
                request = world.request("/").cacheControl(CacheControl.FORCE_CACHE).build();
                again = request;
                break;
            case "post invalidates":
                world.enqueue(fresh, Mock.ok("posted"), Mock.ok("two").setHeader("Cache-Control", "max-age=60"));
                world.call(client, request);
                world.call(client, world.request("/").post(TEXT).build());
                request = again;
                break;
            case "stale if old":
                world.enqueue(Mock.ok("one").setHeader("Cache-Control", "max-age=0"), Mock.ok("two"));
                again = world.request("/").cacheControl(
                        new CacheControl.Builder().maxStale(60, TimeUnit.SECONDS).build()).build();
                break;
            case "forced network":
                world.enqueue(fresh, Mock.ok("two"));
                again = world.request("/").cacheControl(CacheControl.FORCE_NETWORK).build();
                break;
            default:
                MockResponse unknown = world.wire == World.Wire.H1
                        ? Mock.response(200).setChunkedBody("one", 2)
                        : Mock.ok("one").removeHeader("Content-Length");
                world.enqueue(unknown.setHeader("Cache-Control", "max-age=60"));
        }
        world.call(client, request);
        world.call(client, again);
    }

    static Stream<Arguments> interceptors() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of("app changes request", "app changes response", "app answers itself",
                                "app proceeds twice", "app throws", "network changes request",
                                "network changes response", "network sees connection", "network throws",
                                "app sets time-outs", "added after commute")
                        .map(name -> Arguments.of(wire, name)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("interceptors")
    void interceptorsWork(World.Wire wire, String name) throws Exception {
        Difference[] differences = name.equals("network throws") || name.equals("app proceeds twice")
                ? new Difference[] {Difference.CONNECTION_AFTER_FAILURE}
                : new Difference[0];
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("one"), Mock.ok("two"));
            OkHttpClient.Builder builder = world.builder();
            if (name.equals("added after commute") && world.carrier == World.Carrier.ENGINE && TestClients.BY_INTERCEPTOR) {
                Commute.install(builder);
            }
            Interceptor interceptor = chain -> intercept(world, name, chain);
            if (name.startsWith("network")) {
                builder.addNetworkInterceptor(interceptor);
            } else {
                builder.addInterceptor(interceptor);
            }
            Call.Factory client = world.client(builder);
            world.call(client, world.request("/").build());
            world.requests();
        }, differences);
    }

    private static Response intercept(World world, String name, Interceptor.Chain chain) throws IOException {
        Request request = chain.request();
        switch (name) {
            case "app changes request":
            case "network changes request":
            case "added after commute":
                return chain.proceed(request.newBuilder().header("X-Added", "1").removeHeader("User-Agent").build());
            case "app changes response":
            case "network changes response":
                return chain.proceed(request).newBuilder().header("X-Added", "1").build();
            case "app answers itself":
                return new Response.Builder()
                        .request(request)
                        .protocol(okhttp3.Protocol.HTTP_1_1)
                        .code(418)
                        .message("teapot")
                        .body(ResponseBody.create(MediaType.get("text/plain"), "short"))
                        .build();
            case "app proceeds twice":
                chain.proceed(request).close();
                return chain.proceed(request.newBuilder().url(request.url().resolve("/twice")).build());
            case "app throws":
            case "network throws":
                chain.proceed(request).close();
                throw new java.io.FileNotFoundException("thrown by an interceptor");
            case "app sets time-outs":
                return chain.withReadTimeout(5, TimeUnit.SECONDS).withConnectTimeout(5, TimeUnit.SECONDS)
                        .proceed(request);
            default:
                Response response = chain.proceed(request);
                world.say("-> connection " + (chain.connection() != null) + " "
                        + chain.connection().route().address().url() + " "
                        + (chain.connection().handshake() != null) + " " + response.protocol());
                return response;
        }
    }
}
