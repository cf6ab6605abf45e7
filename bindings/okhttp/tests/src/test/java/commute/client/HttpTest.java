package commute.client;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import okhttp3.Call;
import okhttp3.Headers;
import okhttp3.MediaType;
import okhttp3.RequestBody;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.SocketPolicy;
import okio.Buffer;
import okio.GzipSink;
import okio.Okio;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Requests and responses as such. */
final class HttpTest {
    private static final RequestBody TEXT = RequestBody.create(MediaType.get("text/plain"), "body");

    static Stream<Arguments> methods() {
        return wires("GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PATCH", "DELETE with body", "PURGE");
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("methods")
    void everyMethod(World.Wire wire, String name) throws Exception {
        String method = name.split(" ")[0];
        boolean hasBody = name.contains("body") || Arrays.asList("POST", "PUT", "PATCH").contains(method);
        Differential.same(wire, world -> {
            MockResponse response = Mock.response(200).setHeader("Content-Length", 5);
            world.start().enqueue(method.equals("HEAD") ? response : response.setBody("hello"), Mock.ok("again"));
            Call.Factory client = world.client();
            world.call(client, world.request("/a?b=c").method(method, hasBody ? TEXT : null).build());
            world.call(client, world.request("/again").build());
            world.requests();
        }, Difference.EMPTY_BODY_SAID);
    }

    static Stream<Arguments> statuses() {
        return wires("200", "201", "202", "204", "206", "304", "400", "401", "403", "404", "410", "429", "500", "503");
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("statuses")
    void everyStatus(World.Wire wire, String status) throws Exception {
        int code = Integer.parseInt(status);
        Differential.same(wire, world -> {
            MockResponse response = Mock.response(code);
            world.start().enqueue(code == 204 || code == 304 ? response : response.setBody("text"), Mock.ok("again"));
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
            world.call(client, world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aStatusThatNobodyKnows(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(new MockResponse().setStatus("HTTP/1.1 299 ").setBody("?"));
            world.call(world.client(), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aReasonOfTheServersOwn(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(new MockResponse().setStatus("HTTP/1.1 200 Splendid").setBody("?"));
            world.call(world.client(), world.request("/").build());
        }, Difference.REASON);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void fieldsThatComeSeveralTimesAreKeptInOrder(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse response = Mock.ok("x").addHeader("Set-Cookie", "a=1").addHeader("Set-Cookie", "b=2");
            world.start().enqueue(response.addHeader("X-Empty", "").addHeader("Set-Cookie", "c=3"));
            world.call(world.client(), world.request("/")
                    .addHeader("X-Many", "1").addHeader("X-Other", "").addHeader("X-Many", "2").build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void fieldsThatAreNotAscii(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            Headers unusual = new Headers.Builder().addUnsafeNonAscii("X-Name", "Grüße €").build();
            world.start().enqueue(Mock.ok("x").setHeaders(unusual).setBody("x"));
            // MockWebServer's HTTP/2 takes none in requests.
            Headers sent = wire == World.Wire.H1 ? unusual : Headers.of();
            world.call(world.client(), world.request("/").headers(sent).build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void manyAndLongFields(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            Headers.Builder many = new Headers.Builder();
            for (int i = 0; i < 80; i++) {
                many.add("X-" + i, repeat("v", i));
            }
            many.add("X-Long", repeat("l", 8_000));
            world.start().enqueue(Mock.ok("x").setHeaders(many.build()).setBody("x"));
            world.call(world.client(), world.request("/").headers(many.build()).build());
            world.requests();
        });
    }

    static Stream<Arguments> paths() {
        return wires("/", "/a/../b", "/%2F%20", "/a b", "/?", "/?a=b&c", "/?q=\"<>'`{}|^\\", "/[x]{y}|z", "/ü?ä=ö", "/#fragment",
                "/long?" + repeat("a", 4_000));
    }

    @ParameterizedTest(name = "{0} path {index}")
    @MethodSource("paths")
    void everyPath(World.Wire wire, String path) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("x"));
            world.call(world.client(), new okhttp3.Request.Builder().url(world.server.url("/").toString()
                    + path.substring(1)).build());
            world.requests();
        });
    }

    static Stream<Arguments> lengths() {
        return wires("0", "1", "8191", "8192", "65536", "65537", "1000000");
    }

    @ParameterizedTest(name = "{0} {1} bytes")
    @MethodSource("lengths")
    void bodiesOfEveryLength(World.Wire wire, String length) throws Exception {
        Differential.same(wire, world -> {
            byte[] bytes = bytes(Integer.parseInt(length));
            world.start().enqueue(Mock.response(200).setBody(new Buffer().write(bytes)),
                    unknownLength(wire, new Buffer().write(bytes)));
            Call.Factory client = world.client();
            world.call(client, world.request("/length").build());
            world.call(client, world.request("/unknown").build());
        });
    }

    @Test
    void aBodyThatEndsWithTheConnection() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            MockResponse response = Mock.ok("until the end").removeHeader("Content-Length");
            world.start().enqueue(response.setSocketPolicy(SocketPolicy.DISCONNECT_AT_END), Mock.ok("again"));
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
        });
    }

    @Test
    void aLengthBeyondALong() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            world.start().enqueue(Mock.response(304).setHeader("Content-Length", "9223372036854775808"));
            world.call(world.client(), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void gzipIsUndoneUnlessTheAppAskedForIt(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            for (int i = 0; i < 2; i++) {
                world.enqueue(Mock.response(200).setBody(gzip("hello")).setHeader("Content-Encoding", "gzip"));
            }
            world.start();
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
            world.call(client, world.request("/").header("Accept-Encoding", "gzip").build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void trailersComeAfterTheBody(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse response = unknownLength(wire, new Buffer().writeUtf8("hello"));
            world.start().enqueue(response.setTrailers(Headers.of("X-Sum", "1", "X-Other", "2")), Mock.ok("again"));
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
            world.call(client, world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aSlowBodyArrives(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse response = Mock.ok(repeat("slow", 10));
            world.start().enqueue(response.throttleBody(10, 20, TimeUnit.MILLISECONDS));
            world.call(world.client(), world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aBodyThatIsNotReadToItsEnd(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.response(200).setBody(new Buffer().write(bytes(1 << 20))), Mock.ok("again"));
            Call.Factory client = world.client();
            try (okhttp3.Response response = client.newCall(world.request("/").build()).execute()) {
                world.say("-> first byte " + response.body().byteStream().read());
            }
            world.call(client, world.request("/").build());
        }, Difference.UNREAD_REST);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void interimResponsesAreSkipped(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("fine").setSocketPolicy(SocketPolicy.CONTINUE_ALWAYS));
            world.call(world.client(), world.request("/").put(TEXT).build());
        });
    }

    /** Returns a response without a length: in chunks over HTTP/1.1; HTTP/2 forbids them (RFC 9113 section 8.2.2). */
    private static MockResponse unknownLength(World.Wire wire, Buffer body) {
        MockResponse response = Mock.response(200);
        return wire == World.Wire.H1
                ? response.setChunkedBody(body, 5_000)
                : response.setBody(body).removeHeader("Content-Length");
    }

    static Stream<Arguments> wires(String... cases) {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Arrays.stream(cases).map(name -> Arguments.of(wire, name)));
    }

    static byte[] bytes(int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = (byte) (i * 31 % 251);
        }
        return bytes;
    }

    static String repeat(String text, int times) {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < times; i++) {
            all.append(text);
        }
        return all.toString();
    }

    private static Buffer gzip(String text) throws java.io.IOException {
        Buffer packed = new Buffer();
        try (okio.BufferedSink sink = Okio.buffer(new GzipSink(packed))) {
            sink.writeUtf8(text);
        }
        return packed;
    }
}
