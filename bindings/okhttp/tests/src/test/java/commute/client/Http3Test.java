package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Requests to {@code commute serve}, over HTTP/3 where it is known to be offered. */
final class Http3Test {
    private static LabServer server;
    private static Call.Factory client;

    @BeforeAll
    static void start() throws Exception {
        server = new LabServer("--alt-svc");
        Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
        client = Doors.withCommute(Doors.trusting(server.trust()));
    }

    @AfterAll
    static void stop() throws Exception {
        Commute.configure(new Settings.Builder().build());
        server.close();
    }

    @Test
    void aGetGoesOverHttp3() throws Exception {
        try (Response response = client.newCall(get("/bytes/100000")).execute()) {
            RouteReport report = Commute.report(response);
            assertEquals(200, response.code());
            assertEquals(100_000, response.body().bytes().length);
            assertTrue(report.byEngine(), report.toString());
            assertEquals(3, report.httpVersion());
            assertEquals(ResponseInterceptor.http3(), response.protocol());
            assertEquals(1, report.attempts());
        }
    }

    private static Request get(String path) {
        return new Request.Builder().url(server.url(path)).build();
    }
}
