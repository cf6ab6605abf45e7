package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Response;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Listeners and interceptors of the app that throw. */
final class ThrowingTest {
    static Stream<Arguments> events() {
        return HttpTest.wires(
                "callStart", "proxySelectStart", "dnsStart", "dnsEnd", "connectionAcquired", "requestHeadersStart",
                "requestHeadersEnd", "responseHeadersStart", "responseHeadersEnd", "responseBodyStart",
                "responseBodyEnd", "connectionReleased", "callEnd");
    }

    /** The call fails as with plain OkHttp, and the next one works. */
    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("events")
    void aListenerThatThrows(World.Wire wire, String event) throws Exception {
        Differential.same(wire, world -> {
            // Whether the server saw the first request depends on the protocol.
            world.start().enqueue(Mock.ok("fine"), Mock.ok("fine"));
            Throwing listener = new Throwing(event);
            Call.Factory client = world.client(world.builder().eventListener(listener));
            attempt(world, client.newCall(world.request("/").build()));
            for (String heard : listener.take()) {
                world.say(heard);
            }
            world.say("-> thrown: " + listener.thrown);
            attempt(world, client.newCall(world.request("/").build()));
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    static Stream<Arguments> interceptors() {
        return HttpTest.wires("app before", "app after", "network before", "network after");
    }

    /** Those that throw an {@code IOException} are among those of {@link CoreTest}. */
    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("interceptors")
    void anInterceptorThatThrows(World.Wire wire, String when) throws Exception {
        for (boolean unchecked : new boolean[] {true, false}) {
            Differential.same(wire, world -> {
                world.start().enqueue(Mock.ok("one"), Mock.ok("two"));
                Interceptor throwing = chain -> {
                    if (chain.request().url().encodedPath().equals("/fine")) {
                        return chain.proceed(chain.request());
                    }
                    if (when.endsWith("after")) {
                        chain.proceed(chain.request()).close();
                    }
                    if (unchecked) {
                        throw new IllegalStateException("on purpose");
                    }
                    throw new FileNotFoundException("on purpose");
                };
                OkHttpClient.Builder builder = world.builder();
                if (when.startsWith("network")) {
                    builder.addNetworkInterceptor(throwing);
                } else {
                    builder.addInterceptor(throwing);
                }
                Call.Factory client = world.client(builder);
                attempt(world, client.newCall(world.request("/").build()));
                world.events();
                attempt(world, client.newCall(world.request("/fine").build()));
                world.say("-> server: " + world.server.getRequestCount());
            }, Difference.CONNECTION_AFTER_FAILURE);
        }
    }

    /** What a callback throws stays with OkHttp's thread. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aCallbackThatThrows(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("one"), Mock.ok("two"));
            Call.Factory client = world.client();
            CountDownLatch called = new CountDownLatch(1);
            client.newCall(world.request("/").build()).enqueue(new Callback() {
                @Override
                public void onResponse(Call call, Response response) throws IOException {
                    world.say("-> " + response.body().string());
                    called.countDown();
                    throw new IOException("on purpose");
                }

                @Override
                public void onFailure(Call call, IOException failure) {
                    world.say("-> " + failure);
                    called.countDown();
                }
            });
            assertTrue(called.await(20, TimeUnit.SECONDS));
            attempt(world, client.newCall(world.request("/").build()));
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    private static void attempt(World world, Call call) {
        try (Response response = call.execute()) {
            world.say("-> " + response.code() + " " + response.body().string());
        } catch (IOException | RuntimeException failure) {
            world.say("-> " + World.describe(failure));
        }
    }

    /** Throws once, when it hears an event. */
    private static final class Throwing extends Recorder {
        private final String event;
        private boolean thrown;

        Throwing(String event) {
            this.event = event;
        }

        @Override
        void add(String heard) {
            super.add(heard);
            if (!thrown && (heard + " ").startsWith(event + " ")) {
                thrown = true;
                throw new IllegalStateException("on purpose");
            }
        }
    }
}
