package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.SocketPolicy;
import okio.Timeout;
import org.junit.jupiter.api.Test;

/** Calls that the engine fails at, and that go on plainly. */
final class FallbackTest {
    @Test
    void theLimitsOfACallStillHold() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            try (MockWebServer server = OldSuites.server()) {
                server.enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE));
                Call call = world.client().newCall(new Request.Builder().url(server.url("/")).build());
                call.timeout().timeout(500, TimeUnit.MILLISECONDS);
                world.call(call);
            }
            // Another thread tells that it cancelled the call.
        }, Difference.LATE_CONNECT, Difference.BROKEN_STREAM);
    }

    /** Before OkHttp 5.4 it is another call. */
    @Test
    void theTimeOfTheFirstCallCounts() throws Exception {
        try (World world = new World(World.Way.ENGINE, World.Wire.H1);
                MockWebServer server = OldSuites.server()) {
            server.enqueue(Mock.ok("fine"));
            OkHttpClient client = world.builder().build();
            Call call = Commute.callFactory(client).newCall(new Request.Builder().url(server.url("/")).build());
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            call.timeout().deadlineNanoTime(deadline);
            try (Response response = call.execute()) {
                assertEquals("plain.not_sent", Commute.report(response).code());
            }
            Timeout left = call.timeout();
            assertEquals(deadline, left.deadlineNanoTime());
            long limitNs = TimeUnit.MILLISECONDS.toNanos(client.callTimeoutMillis());
            assertTrue(left.timeoutNanos() > 0 && left.timeoutNanos() < limitNs, left.timeoutNanos() + " ns are left");
        }
    }
}
