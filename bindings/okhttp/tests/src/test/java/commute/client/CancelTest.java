package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.MediaType;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
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
            world.start().enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE), Mock.ok("again"));
            Call.Factory client = world.client();
            Call call = client.newCall(world.request("/").build());
            Thread canceller = new Thread(() -> {
                try {
                    // The server has the request.
                    world.server.takeRequest();
                } catch (InterruptedException ended) {
                    return;
                }
                call.cancel();
            });
            canceller.start();
            try (Response response = call.execute()) {
                world.say("-> " + response.code());
            } catch (IOException cancelled) {
                world.say("-> cancelled");
            }
            canceller.join();
            world.recorder.take();
            world.call(client, world.request("/").build());
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

    /** Each call ends, with a whole response or an exception, and its events end, too. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void atTwoHundredRandomMoments(World.Wire wire) throws Exception {
        try (World world = new World(World.Way.ENGINE, wire)) {
            world.start();
            world.server.setDispatcher(new okhttp3.mockwebserver.Dispatcher() {
                @Override
                public MockResponse dispatch(okhttp3.mockwebserver.RecordedRequest request) {
                    return Mock.response(200).setBody(new Buffer().write(HttpTest.bytes(200_000)));
                }
            });
            Call.Factory client = world.client();
            Random random = new Random(7);
            int whole = 0;
            for (int i = 0; i < 200; i++) {
                // Half of them reuse a connection, and so end within a millisecond or two.
                long afterNs = random.nextInt(i % 2 == 0 ? 1_000_000 : 6_000_000);
                Call call = client.newCall(world.request("/").build());
                Thread canceller = new Thread(() -> {
                    long end = System.nanoTime() + afterNs;
                    while (System.nanoTime() < end) {
                        Thread.yield();
                    }
                    call.cancel();
                });
                canceller.start();
                try (Response response = call.execute()) {
                    assertEquals(200_000, response.body().bytes().length);
                    whole++;
                } catch (IOException cancelled) {
                    assertTrue(call.isCanceled(), cancelled.toString());
                }
                canceller.join();
                List<String> events = world.recorder.take();
                events.removeIf(event -> event.equals("canceled"));
                assertEquals("callStart", events.get(0));
                String last = events.get(events.size() - 1);
                assertTrue(last.equals("callEnd") || last.startsWith("callFailed"), events.toString());
            }
            System.out.println(wire + ": " + whole + " of 200 calls were faster than their cancellation");
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
            Call call = world.client().newCall(world.request("/").build());
            CountDownLatch done = new CountDownLatch(1);
            call.enqueue(new Callback() {
                @Override
                public void onResponse(Call call, Response response) {
                    world.say("-> response");
                    done.countDown();
                }

                @Override
                public void onFailure(Call same, IOException failure) {
                    world.say("-> failure of the same call: " + (same == call || !Doors.BY_INTERCEPTOR));
                    done.countDown();
                }
            });
            world.server.takeRequest();
            call.cancel();
            assertTrue(done.await(10, TimeUnit.SECONDS));
        });
    }
}
