package commute.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTPS records by a resolver of the app's. */
final class HttpsRecordsTest {
    @AfterEach
    void reset() {
        Commute.configure(new Settings.Builder().build());
        Commute.disconnect();
    }

    @Test
    void aRecordLeadsToHttp3() throws Exception {
        Commute.disconnect();
        List<String> asked = new CopyOnWriteArrayList<>();
        Commute.configure(new Settings.Builder()
                .httpsRecords((name, answer) -> {
                    asked.add(name);
                    new Thread(() -> answer.accept(offer(name))).start();
                })
                .build());
        try (LabServer server = new LabServer()) {
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            Request request = new Request.Builder().url(server.url("/health")).build();
            TestClients.awaitHttp3(client, request).body().bytes();
            assertEquals(1, asked.size(), asked + "");
            assertEquals("_" + server.port + "._https.localhost", asked.get(0));
        }
    }

    @Test
    void aResolverThatThrowsOrHasNothingIsNoReasonToFail() throws Exception {
        Commute.disconnect();
        try (LabServer server = new LabServer()) {
            for (HttpsRecords resolver : resolversWithoutAnAnswer()) {
                Commute.configure(new Settings.Builder().httpsRecords(resolver).build());
                Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
                assertEquals(2, call(client, server));
            }
        }
    }

    private static List<HttpsRecords> resolversWithoutAnAnswer() {
        List<HttpsRecords> resolvers = new ArrayList<>();
        resolvers.add((name, answer) -> {
            throw new IllegalStateException("on purpose");
        });
        resolvers.add((name, answer) -> {});
        resolvers.add((name, answer) -> answer.accept(null));
        resolvers.add((name, answer) -> answer.accept(new byte[0]));
        resolvers.add((name, answer) -> answer.accept(new byte[] {1, 2, 3}));
        return resolvers;
    }

    /** Otherwise the engine would wait for 50 ms for an answer that does not come. */
    @Test
    void thatThereIsNoAnswerIsReported() {
        List<HttpsRecords> resolvers = new ArrayList<>();
        resolvers.add((name, answer) -> {
            throw new IllegalStateException("on purpose");
        });
        resolvers.add((name, answer) -> answer.accept(null));
        resolvers.add((name, answer) -> answer.accept(new byte[0]));
        for (HttpsRecords resolver : resolvers) {
            List<byte[]> reported = new ArrayList<>();
            new RecordQueries(resolver, (host, port, answer) -> reported.add(answer)).ask("a.example", 443, 0);
            assertEquals(2, reported.size());
            // That it was asked, then an answer that offers nothing.
            assertNull(reported.get(0));
            assertArrayEquals(new byte[0], reported.get(1));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"192.0.2.1", "2001:db8::1", "::1"})
    void addressesAreNotAskedFor(String host) {
        RecordQueries queries = new RecordQueries(
                (name, answer) -> fail("asked for " + name),
                (reported, port, answer) -> fail("reported " + reported));
        queries.ask(host, 443, 0);
        queries.ask(host, 8443, 0);
    }

    /** OkHttp opens several sockets to an origin. */
    @Test
    void anOriginIsAskedForOnceAMinute() {
        List<String> asked = new ArrayList<>();
        List<byte[]> reported = new ArrayList<>();
        RecordQueries queries = new RecordQueries(
                (name, answer) -> {
                    asked.add(name);
                    answer.accept(offer(name));
                },
                (host, port, answer) -> reported.add(answer));
        long minute = TimeUnit.MINUTES.toNanos(1);
        queries.ask("a.example", 443, 0);
        queries.ask("a.example", 443, minute - 1);
        queries.ask("a.example", 444, minute - 1);
        queries.ask("a.example", 443, minute);
        assertEquals(Arrays.asList("a.example", "_444._https.a.example", "a.example"), asked);
        // That it was asked is reported first.
        assertEquals(6, reported.size());
        assertTrue(reported.get(0) == null && reported.get(2) == null);
        assertArrayEquals(offer("a.example"), reported.get(1));
        for (int i = 0; i < 64; i++) {
            queries.ask(i + ".example", 443, minute);
        }
        queries.ask("a.example", 443, minute);
        assertEquals("a.example", asked.get(asked.size() - 1), "the oldest is forgotten");
    }

    private static int call(Call.Factory client, LabServer server) throws Exception {
        try (Response response = client.newCall(new Request.Builder().url(server.url("/health")).build()).execute()) {
            response.body().bytes();
            return Commute.report(response).httpVersion();
        }
    }

    /** Returns a DNS message with one record, of this name's, that has {@code h3}. */
    private static byte[] offer(String name) {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        byte[] header = {0, 1, (byte) 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0};
        message.write(header, 0, header.length);
        for (String label : name.split("\\.")) {
            message.write(label.length());
            byte[] bytes = label.getBytes(StandardCharsets.US_ASCII);
            message.write(bytes, 0, bytes.length);
        }
        byte[] record = {0, 0, 65, 0, 1, 0, 0, 0, 60, 0, 10, 0, 1, 0, 0, 1, 0, 3, 2, 'h', '3'};
        message.write(record, 0, record.length);
        return message.toByteArray();
    }
}
