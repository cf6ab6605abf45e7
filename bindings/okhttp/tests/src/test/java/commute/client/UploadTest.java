package commute.client;

import java.io.IOException;
import java.util.Arrays;
import java.util.stream.Stream;
import okhttp3.Call;
import okhttp3.MediaType;
import okhttp3.MultipartBody;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.mockwebserver.SocketPolicy;
import okio.BufferedSink;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Bodies of requests. */
final class UploadTest {
    private static final MediaType OCTETS = MediaType.get("application/octet-stream");

    /** Returns lengths around what the engine holds, 64 KiB, and OkHttp's segments. */
    static Stream<Arguments> lengths() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of(0, 1, 8_192, 65_535, 65_536, 65_537, 500_000)
                        .flatMap(length -> Stream.of(true, false)
                                .map(known -> Arguments.of(wire, length, known))));
    }

    @ParameterizedTest(name = "{0} {1} bytes, length known: {2}")
    @MethodSource("lengths")
    void everyLength(World.Wire wire, int length, boolean known) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("taken"), Mock.ok("again"));
            Call.Factory client = world.client();
            world.call(client, world.request("/").put(body(length, known ? length : -1, false)).build());
            world.call(client, world.request("/").build());
            world.requests();
        }, Difference.EMPTY_BODY_SAID);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aBodyThatCanBeWrittenOnce(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("taken"));
            world.call(world.client(), world.request("/").post(body(100_000, -1, true)).build());
            world.requests();
        });
    }

    /** Returns failures before anything, within what is held, and in the middle of what is streamed. */
    static Stream<Arguments> failures() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of(0, 10_000, 500_000).map(after -> Arguments.of(wire, after)));
    }

    @ParameterizedTest(name = "{0} after {1} bytes")
    @MethodSource("failures")
    void aBodyThatThrowsFailsTheCallAndNothingElse(World.Wire wire, int after) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("again"), Mock.ok("again"));
            Call.Factory client = world.client();
            RequestBody throwing = new RequestBody() {
                @Override
                public MediaType contentType() {
                    return OCTETS;
                }

                @Override
                public void writeTo(BufferedSink sink) throws IOException {
                    sink.write(HttpTest.bytes(after));
                    sink.flush();
                    throw new java.io.FileNotFoundException("the file has gone");
                }
            };
            world.call(client, world.request("/").post(throwing).build());
            world.call(client, world.request("/again").build());
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    static Stream<Arguments> wrongLengths() {
        return Arrays.stream(World.Wire.values())
                .flatMap(wire -> Stream.of(99, 101, 100_001, 99_999).map(said -> Arguments.of(wire, said)));
    }

    @ParameterizedTest(name = "{0} said {1}")
    @MethodSource("wrongLengths")
    void aBodyWithAnotherLengthThanItSaid(World.Wire wire, int said) throws Exception {
        int written = said > 1_000 ? 100_000 : 100;
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("?"));
            world.call(world.client(), world.request("/").post(body(written, said, false)).build());
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aFormOfSeveralParts(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("taken"));
            MultipartBody form = new MultipartBody.Builder("boundary")
                    .setType(MultipartBody.FORM)
                    .addFormDataPart("name", "value")
                    .addFormDataPart("file", "a.bin", body(100_000, 100_000, false))
                    .build();
            world.call(world.client(), world.request("/").post(form).build());
            world.requests();
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void anAppThatWaitsToBeToldToContinue(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("taken").setSocketPolicy(SocketPolicy.EXPECT_CONTINUE));
            Request request =
                    world.request("/").header("Expect", "100-continue").post(body(1_000, 1_000, false)).build();
            world.call(world.client(), request);
        }, Difference.CONTINUE_AT_ONCE);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void severalUploadsOneAfterAnother(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start();
            Call.Factory client = world.client();
            for (int i = 0; i < 5; i++) {
                world.enqueue(Mock.ok("taken " + i));
                world.call(client, world.request("/" + i).put(body(70_000 * i, -1, false)).build());
            }
            world.requests();
        }, Difference.EMPTY_BODY_SAID);
    }

    static RequestBody body(int written, long said, boolean oneShot) {
        return new RequestBody() {
            @Override
            public MediaType contentType() {
                return OCTETS;
            }

            @Override
            public long contentLength() {
                return said;
            }

            @Override
            public boolean isOneShot() {
                return oneShot;
            }

            @Override
            public void writeTo(BufferedSink sink) throws IOException {
                sink.write(HttpTest.bytes(written));
            }
        };
    }
}
