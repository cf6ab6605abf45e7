package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code commute serve}: plain OkHttp over HTTP/2, and commute, which has a hint, over HTTP/3. */
final class Http3Test {
    private static final AtomicInteger RESPONSES = new AtomicInteger();
    private static final AtomicInteger BY_HTTP_3 = new AtomicInteger();
    private static LabServer server;

    @BeforeAll
    static void start() throws Exception {
        server = new LabServer(
                "--inject", "1=reset", "--inject", "2=truncate", "--inject", "3=garbage", "--inject", "4=stall",
                "--inject", "5=slow", "--inject", "6=unavailable", "--inject", "7=redirect");
        Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
    }

    @AfterAll
    static void stop() throws Exception {
        Commute.configure(new Settings.Builder().build());
        server.close();
        // On a busy machine TCP, which starts 10 ms later, may win a race.
        assertTrue(BY_HTTP_3.get() * 2 >= RESPONSES.get(), BY_HTTP_3 + " of " + RESPONSES + " came by HTTP/3");
    }

    @Test
    void aGetGoesOverHttp3() throws Exception {
        Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
        try (Response response = TestClients.awaitHttp3(client, get("/bytes/100000").build())) {
            RouteReport report = Commute.report(response);
            assertEquals(200, response.code());
            assertEquals(100_000, response.body().bytes().length);
            assertTrue(report.byEngine(), report.toString());
            assertEquals(ResponseInterceptor.http3(), response.protocol());
            assertEquals(1, report.attempts());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8_191, 8_192, 65_536, 1_000_000, 10_000_000})
    void downloads(int bytes) throws Exception {
        same((world, client) -> call(world, client, get("/bytes/" + bytes)));
    }

    @ParameterizedTest
    @CsvSource({"0,true", "1,true", "65536,true", "65537,true", "3000000,true", "0,false", "65537,false", "3000000,false"})
    void uploads(int bytes, boolean lengthIsKnown) throws Exception {
        RequestBody body = UploadTest.body(bytes, lengthIsKnown ? bytes : -1, false);
        same((world, client) -> call(world, client, get("/upload").put(body)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"bytes=0-99", "bytes=500-", "bytes=-7", "bytes=5000-"})
    void ranges(String range) throws Exception {
        same((world, client) -> call(world, client, get("/bytes/1000").header("Range", range)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"HEAD /health", "GET /nowhere", "DELETE /health", "POST /echo", "GET /bytes/x"})
    void answersOfEveryKind(String request) throws Exception {
        String[] parts = request.split(" ");
        RequestBody body = parts[0].equals("POST") ? RequestBody.create(MediaType.get("application/json"), "{}") : null;
        same((world, client) -> {
            call(world, client, get(parts[1]).method(parts[0], body));
            call(world, client, get("/health"));
        });
    }

    /** Cut short, wrong, slow, refused, redirected. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 6, 7})
    void faultsOfTheServer(int fault) throws Exception {
        Difference[] differences = fault <= 2
                ? new Difference[] {Difference.BROKEN_STREAM, fault == 2 ? Difference.SHORT_BODY : Difference.BROKEN_STREAM}
                : new Difference[0];
        same((world, client) -> {
            Request.Builder post = get("/upload").put(UploadTest.body(1_000, 1_000, false));
            call(world, client, post.header("x-commute-id", String.valueOf(fault)));
            call(world, client, get("/health"));
        }, differences);
    }

    @Test
    void theServerDoesNotAnswerInTime() throws Exception {
        same((world, client) -> {
            OkHttpClient.Builder hurried = builder(world).readTimeout(500, TimeUnit.MILLISECONDS);
            call(world, world.client(hurried), get("/health").header("x-commute-id", "4"));
        }, Difference.BROKEN_STREAM);
    }

    @Test
    void aCallIsCancelledWhileTheServerIsSilent() throws Exception {
        same((world, client) -> {
            // The server answers after 30 s, and nothing but being cancelled ends the call before.
            OkHttpClient.Builder patient =
                    builder(world).readTimeout(0, TimeUnit.SECONDS).callTimeout(0, TimeUnit.SECONDS);
            Call call = world.client(patient).newCall(get("/health").header("x-commute-id", "4").build());
            Thread canceller = new Thread(() -> {
                try {
                    // Sooner or later makes no difference.
                    Thread.sleep(200);
                } catch (InterruptedException ended) {
                    return;
                }
                call.cancel();
            });
            canceller.start();
            try {
                call.execute().close();
                world.say("-> answered");
            } catch (IOException cancelled) {
                world.say("-> cancelled " + call.isCanceled());
            }
            canceller.join();
        });
    }

    private interface Deed {
        void run(World world, Call.Factory client) throws Exception;
    }

    private static void same(Deed deed, Difference... differences) throws Exception {
        Difference[] all = java.util.Arrays.copyOf(differences, differences.length + 2);
        all[differences.length] = Difference.ANOTHER_PROTOCOL;
        all[differences.length + 1] = Difference.EMPTY_BODY_SAID;
        Differential.same(World.Wire.H2, world -> deed.run(world, world.client(builder(world))), all);
    }

    private static void call(World world, Call.Factory client, Request.Builder request) {
        int before = world.transcript.size();
        world.call(client, request.build());
        String first = world.transcript.get(before);
        if (world.carrier == World.Carrier.ENGINE && first.matches("-> [0-9]{3} .*")) {
            RESPONSES.incrementAndGet();
            BY_HTTP_3.addAndGet(first.matches(".* (h3|quic)") ? 1 : 0);
        }
    }

    private static OkHttpClient.Builder builder(World world) throws Exception {
        return TestClients.trusting(server.trust()).readTimeout(10, TimeUnit.SECONDS).eventListener(world.recorder);
    }

    private static Request.Builder get(String path) {
        return new Request.Builder().url(server.url(path));
    }
}
