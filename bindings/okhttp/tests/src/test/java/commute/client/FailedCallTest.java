package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.SocketPolicy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is known of calls that have no response. */
final class FailedCallTest {
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theConnectionOfACallThatFailedIsKnown(World.Wire wire) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, wire)) {
            MockResponse none = new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE);
            world.start().enqueue(Mock.ok("fine"), none, none);
            OkHttpClient.Builder builder = world.builder().readTimeout(500, TimeUnit.MILLISECONDS);
            Call.Factory client = world.client(builder);
            Call fine = client.newCall(world.request("/").build());
            RouteReport first;
            try (Response response = fine.execute()) {
                response.body().bytes();
                first = Commute.report(response);
            }
            assertNull(Commute.report(fine), "it has a response");

            Call late = client.newCall(world.request("/").build());
            assertThrows(IOException.class, late::execute);
            RouteReport report = Commute.report(late);
            assertTrue(report.byEngine() && report.reused(), report.toString());
            assertEquals(first.connection(), report.connection());
            assertEquals(first.localPort(), report.localPort());
            assertEquals(-1, report.firstByteNs());

            Call cancelled = client.newCall(world.request("/").build());
            world.server.takeRequest();
            world.server.takeRequest();
            Thread canceller = new Thread(() -> {
                try {
                    world.server.takeRequest();
                } catch (InterruptedException ended) {
                    return;
                }
                cancelled.cancel();
            });
            canceller.start();
            assertThrows(IOException.class, cancelled::execute);
            canceller.join();
            assertEquals(1, Commute.report(cancelled).attempts());
        }
    }

    /** The engine opened it while OkHttp waited for its handshake. */
    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theFirstCallOpenedItsConnection(World.Wire wire) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, wire)) {
            world.start().enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE));
            Call.Factory client = world.client(world.builder().readTimeout(500, TimeUnit.MILLISECONDS));
            Call late = client.newCall(world.request("/").build());
            assertThrows(IOException.class, late::execute);
            RouteReport report = Commute.report(late);
            assertFalse(report.reused());
            assertTrue(report.tlsNs() > 0, report.tlsNs() + " ns");
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void nothingIsKnownOfACallThatSentNothing(World.Wire wire) throws Exception {
        try (World world = new World(World.Carrier.ENGINE, wire)) {
            world.start(0, Certificates.OF_A_STRANGER);
            Call refused = world.client().newCall(world.request("/").build());
            assertThrows(IOException.class, refused::execute);
            assertNull(Commute.report(refused));
        }
    }

    @Test
    void nothingIsToldOfACallThatWorkedPlainly() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1);
                MockWebServer server = OldSuites.server()) {
            server.enqueue(Mock.ok("plain"));
            Call call = world.client().newCall(new Request.Builder().url(server.url("/")).build());
            try (Response response = call.execute()) {
                assertEquals("plain.not_sent", Commute.report(response).code());
            }
            assertNull(Commute.report(call));
        }
    }
}
