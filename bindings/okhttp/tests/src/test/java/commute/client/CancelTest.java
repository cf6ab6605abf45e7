package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.Dispatcher;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.RecordedRequest;
import okhttp3.mockwebserver.SocketPolicy;
import okio.Buffer;
import okio.BufferedSink;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls that are cancelled. */
final class CancelTest {
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void beforeItBegins(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("never"));
            Call call = world.client().newCall(world.request("/").build());
            call.cancel();
            world.call(call);
            world.say("-> " + call.isCanceled() + ", server: " + world.server.getRequestCount());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void whileTheServerIsSilent(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            HeldBack held = new HeldBack();
            world.start().server.setDispatcher(held);
            Call.Factory client = world.client(patient(world));
            Call call = client.newCall(world.request("/held").build());
            Thread canceller = new Thread(() -> {
                held.awaitRequest();
                call.cancel();
            });
            canceller.start();
            try (Response response = call.execute()) {
                world.say("-> " + response.code());
            } catch (IOException cancelled) {
                world.say("-> cancelled before the server answered: " + !held.isOver());
            }
            held.end();
            canceller.join();
            world.recorder.take();
            world.call(client, world.request("/again").build());
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void inTheBody(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse slow = Mock.response(200).setBody(new Buffer().write(HttpTest.bytes(1_000_000)));
            world.start().enqueue(slow.throttleBody(100_000, 1, TimeUnit.SECONDS), Mock.ok("again"));
            Call.Factory client = world.client();
            Call call = client.newCall(world.request("/").build());
            Thread canceller = new Thread(call::cancel);
            try (Response response = call.execute()) {
                response.body().source().require(1);
                canceller.start();
                response.body().bytes();
            } catch (IOException cancelled) {
                world.say("-> cancelled " + call.isCanceled());
            }
            canceller.join();
            world.recorder.take();
            world.call(client, world.request("/").build());
        }, Difference.CONNECTION_AFTER_FAILURE);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void inAnUpload(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("?"), Mock.ok("again"));
            Call.Factory client = world.client();
            Call[] call = new Call[1];
            RequestBody cancelling = new RequestBody() {
                @Override
                public MediaType contentType() {
                    return null;
                }

                @Override
                public void writeTo(BufferedSink sink) throws IOException {
                    for (int i = 0; i < 1_000; i++) {
                        sink.write(HttpTest.bytes(10_000));
                        sink.flush();
                        if (i == 20) {
                            call[0].cancel();
                        }
                    }
                }
            };
            call[0] = client.newCall(world.request("/").post(cancelling).build());
            try (Response response = call[0].execute()) {
                world.say("-> " + response.code());
            } catch (IOException cancelled) {
                world.say("-> cancelled " + call[0].isCanceled());
            }
        });
    }

    /**
     * Each call ends with an exception, and its events end, too. Without being cancelled, or if that had an effect
     * only when more comes, one would take 2 s, and all of them longer than a test may.
     */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void atTwoHundredRandomMoments(World.Wire wire) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, wire)) {
            world.start().server.setDispatcher(new Dispatcher() {
                @Override
                public MockResponse dispatch(RecordedRequest request) {
                    MockResponse response = Mock.response(200).setBody(new Buffer().write(HttpTest.bytes(200_000)));
                    switch (request.getPath()) {
                        case "/head":
                            return response.setHeadersDelay(2, TimeUnit.SECONDS);
                        case "/body":
                            return response.throttleBody(100_000, 2, TimeUnit.SECONDS);
                        default:
                            return response;
                    }
                }
            });
            Call.Factory client = world.client(patient(world));
            Random random = new Random(7);
            for (int i = 0; i < 200; i++) {
                long afterNs = random.nextInt(i % 2 == 0 ? 1_000_000 : 6_000_000);
                Call call = client.newCall(world.request(i % 4 < 2 ? "/head" : "/body").build());
                Thread canceller = new Thread(() -> {
                    long end = System.nanoTime() + afterNs;
                    while (System.nanoTime() < end) {
                        Thread.yield();
                    }
                    call.cancel();
                });
                canceller.start();
                assertThrows(IOException.class, () -> call.execute().body().bytes());
                assertTrue(call.isCanceled());
                canceller.join();
                List<String> events = world.recorder.take();
                events.removeIf(event -> event.equals("canceled"));
                assertEquals("callStart", events.get(0));
                assertTrue(events.get(events.size() - 1).startsWith("callFailed"), events.toString());
            }
            try (Response response = client.newCall(world.request("/").build()).execute()) {
                assertEquals(200_000, response.body().bytes().length);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aCallThatWasEnqueued(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE));
            // It ends by being cancelled, or never.
            Call call = world.client(patient(world)).newCall(world.request("/").build());
            CountDownLatch done = new CountDownLatch(1);
            call.enqueue(new Callback() {
                @Override
                public void onResponse(Call call, Response response) {
                    world.say("-> response");
                    done.countDown();
                }

                @Override
                public void onFailure(Call same, IOException failure) {
                    world.say("-> failure of the same call: " + (same == call || !TestClients.BY_INTERCEPTOR));
                    done.countDown();
                }
            });
            world.server.takeRequest();
            call.cancel();
            assertTrue(done.await(10, TimeUnit.SECONDS));
        });
    }

    /** Returns the builder of a client that waits for as long as it takes. */
    private static OkHttpClient.Builder patient(World world) {
        return world.builder().readTimeout(0, TimeUnit.SECONDS).callTimeout(0, TimeUnit.SECONDS);
    }

    /** Holds one response back for 2 s, and knows whether it still does. */
    private static final class HeldBack extends Dispatcher {
        private final CountDownLatch arrived = new CountDownLatch(1);
        private final CountDownLatch end = new CountDownLatch(1);
        private volatile boolean over;

        @Override
        public MockResponse dispatch(RecordedRequest request) throws InterruptedException {
            if (request.getPath().equals("/held")) {
                arrived.countDown();
                over = !end.await(2, TimeUnit.SECONDS);
            }
            return Mock.ok("again");
        }

        void awaitRequest() {
            try {
                arrived.await();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }

        void end() {
            end.countDown();
        }

        boolean isOver() {
            return over;
        }
    }
}
