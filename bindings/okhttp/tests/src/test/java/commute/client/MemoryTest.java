package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is learnt is kept, by one engine after another. */
final class MemoryTest {
    private static final int ENGINES = 8;

    @TempDir
    Path folder;

    @BeforeEach
    void useAFolder() {
        Commute.disconnect();
        Commute.configure(new Settings.Builder().memory(folder.toFile()).build());
    }

    @AfterEach
    void reset() throws Exception {
        Commute.disconnect();
        Commute.configure(new Settings.Builder().build());
        // They write on threads of their own, and the folder is deleted next.
        EngineThreads.await(0);
    }

    @Test
    void itIsThereOnceAnEngineHasEnded() throws Exception {
        try (LabServer server = new LabServer()) {
            for (int round = 0; round < 3; round++) {
                call(server);
                Commute.disconnect();
                assertTrue(Files.deleteIfExists(file()), "nothing was kept in round " + round);
            }
        }
    }

    @Test
    void itIsThereWhenItIsSaved() throws Exception {
        try (LabServer server = new LabServer()) {
            call(server);
            awaitFile();
            // By itself it is written again after half a minute at the earliest.
            Files.delete(file());
            Commute.save();
            assertTrue(Files.exists(file()), "it was not saved");
        }
    }

    @Test
    void anEngineThatGaveWayPassesItOn() throws Exception {
        try (LabServer server = new LabServer()) {
            for (int i = 0; i < ENGINES; i++) {
                call(server);
            }
            Files.deleteIfExists(file());
            // Takes the place of the first one, which had the folder.
            call(server);
            assertTrue(Files.deleteIfExists(file()), "the first one kept nothing at its end");
            Commute.disconnect();
            assertTrue(Files.exists(file()), "the last one kept nothing");
        }
    }

    /** Another engine's file would be overwritten when the last request has ended. */
    @Test
    void anEngineWithACallUnderWayKeepsItsFolder() throws Exception {
        try (LabServer server = new LabServer()) {
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            Request large = new Request.Builder().url(server.url("/bytes/10000000")).build();
            try (Response half = client.newCall(large).execute()) {
                Commute.disconnect();
                call(server);
                Files.deleteIfExists(file());
                Commute.disconnect();
                assertFalse(Files.exists(file()), "two engines had the folder");
                assertEquals(10_000_000, half.body().bytes().length);
            }
            // Then it ends, and writes its file on its own thread.
            awaitFile();
        }
    }

    private void awaitFile() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!Files.exists(file()) && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
        assertTrue(Files.exists(file()), "it kept nothing");
    }

    private Path file() {
        return folder.resolve("route.v1");
    }

    /** Makes a call by a client, and so by an engine, of its own. */
    private static void call(LabServer server) throws Exception {
        Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
        try (Response response = client.newCall(new Request.Builder().url(server.url("/health")).build()).execute()) {
            assertTrue(Commute.report(response).byEngine());
            response.body().bytes();
        }
    }
}
