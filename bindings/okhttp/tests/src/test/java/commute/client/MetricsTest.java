package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What requests took, of all engines together. */
final class MetricsTest {
    @AfterEach
    void reset() {
        Commute.networkChanged(new byte[] {0}, false);
        Commute.disconnect();
    }

    @Test
    void theyTellTheKindOfNetwork() throws Exception {
        Commute.disconnect();
        assertEquals("", Commute.metricsCsv(MetricsArms.ROLLOUT));
        try (LabServer server = new LabServer()) {
            Call.Factory first = TestClients.withCommute(TestClients.trusting(server.trust()));
            Call.Factory second = TestClients.withCommute(TestClients.trusting(server.trust()));
            Commute.networkChanged(new byte[] {1}, false, NetworkKind.WIFI);
            call(first, server);
            // The second engine starts when the network is known.
            call(second, server);
            awaitRows(2);
            Commute.networkChanged(new byte[] {2}, true, NetworkKind.CELLULAR);
            call(first, server);
            List<String> rows = awaitRows(3);
            assertEquals(2, rows.stream().filter(row -> row.startsWith("Wi-Fi,HTTP/3 allowed,")).count(), rows + "");
            assertEquals(1, rows.stream().filter(row -> row.startsWith("cellular,")).count(), rows + "");
            assertTrue(Commute.metricsCsv(MetricsArms.PROTOCOLS).contains("Wi-Fi,HTTP/2,h2,"), rows + "");
        }
    }

    /** Waits for the last request, which is counted a moment after its body has ended. */
    private static List<String> awaitRows(int count) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        List<String> lines = lines();
        while (lines.size() <= count && System.nanoTime() < deadline) {
            Thread.sleep(1);
            lines = lines();
        }
        assertEquals(count + 1, lines.size(), lines + "");
        assertTrue(lines.get(0).startsWith("network,arm,protocol,"), lines.get(0));
        return lines.subList(1, lines.size());
    }

    private static List<String> lines() {
        return Arrays.asList(Commute.metricsCsv(MetricsArms.ROLLOUT).split("\r\n"));
    }

    private static void call(Call.Factory client, LabServer server) throws Exception {
        try (Response response = client.newCall(new Request.Builder().url(server.url("/health")).build()).execute()) {
            assertTrue(Commute.report(response).byEngine());
            response.body().bytes();
        }
    }
}
