package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.Dispatcher;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.RecordedRequest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An engine that OkHttp has to do without turns itself off. */
final class TurnedOffTest {
    /** So many requests an engine has before it may turn itself off, if more than one in fifty failed. */
    private static final int REQUESTS = 50;

    @AfterEach
    void reset() {
        Commute.networkChanged(new byte[] {0}, false);
    }

    @Test
    void whatOnlyTheEngineCannotDoTurnsItOff() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1);
                MockWebServer server = answering(OldSuites.server())) {
            Call.Factory client = world.client();
            for (int i = 0; i < REQUESTS; i++) {
                assertEquals("plain.not_sent", report(client, server).code());
            }
            RouteReport report = report(client, server);
            assertEquals("plain.engine", report.code());
            assertTrue(report.why().contains("turned itself off"), report.why());
        }
    }

    @Test
    void beingOfflineDoesNot() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            Call.Factory client = world.client();
            answering(world.start().server);
            for (int i = 0; i < REQUESTS; i++) {
                assertTrue(report(client, world.server).byEngine());
            }
            Commute.networkLost();
            for (int i = 0; i < 10; i++) {
                RouteReport report = report(client, world.server);
                assertEquals("plain.engine", report.code());
                assertTrue(report.why().contains("no network"), report.why());
            }
            Commute.networkChanged(new byte[] {1}, false);
            RouteReport report = report(client, world.server);
            assertTrue(report.byEngine(), report.why());
        }
    }

    private static MockWebServer answering(MockWebServer server) {
        server.setDispatcher(new Dispatcher() {
            @Override
            public MockResponse dispatch(RecordedRequest request) {
                return Mock.ok("fine");
            }
        });
        return server;
    }

    private static RouteReport report(Call.Factory client, MockWebServer server) throws IOException {
        try (Response response = client.newCall(new Request.Builder().url(server.url("/")).build()).execute()) {
            assertEquals("fine", response.body().string());
            return Commute.report(response);
        }
    }
}
