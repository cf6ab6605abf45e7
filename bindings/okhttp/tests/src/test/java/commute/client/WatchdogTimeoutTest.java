package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import okio.AsyncTimeout;
import org.junit.jupiter.api.Test;

/** What {@link WatchdogTimeout} does to okio's watchdog: fewer wake-ups, and the same deadlines. */
final class WatchdogTimeoutTest {
    private static final int READS = 200;

    @Test
    void readsDoNotWakeTheWatchdog() throws Exception {
        long without = wakeUps(false);
        long with = wakeUps(true);
        assertTrue(with * 4 < without, with + " instead of " + without);
    }

    @Test
    void theWatchdogSleepsOnceCallsAreOver() throws Exception {
        WatchdogTimeout.use();
        WatchdogTimeout.use();
        Thread.sleep(5 * WatchdogTimeout.PERIOD_MS);
        long before = switches();
        Thread.sleep(5 * WatchdogTimeout.PERIOD_MS);
        assertTrue(switches() - before <= 1, "it woke up");
    }

    @Test
    void timeOutsComeInTime() throws Exception {
        for (int ms : new int[] {WatchdogTimeout.PERIOD_MS / 4, 2 * WatchdogTimeout.PERIOD_MS}) {
            CountDownLatch late = new CountDownLatch(1);
            AsyncTimeout timeout = new AsyncTimeout() {
                @Override
                protected void timedOut() {
                    late.countDown();
                }
            };
            timeout.timeout(ms, TimeUnit.MILLISECONDS);
            WatchdogTimeout.use();
            long began = System.nanoTime();
            timeout.enter();
            assertTrue(late.await(20, TimeUnit.SECONDS));
            assertTrue(System.nanoTime() - began >= TimeUnit.MILLISECONDS.toNanos(ms));
            assertTrue(timeout.exit());
        }
    }

    /** Returns how often the watchdog woke up while a lone call read, each time within a limit. */
    private static long wakeUps(boolean use) throws Exception {
        Thread.sleep(3 * WatchdogTimeout.PERIOD_MS);
        AsyncTimeout timeout = new AsyncTimeout();
        timeout.timeout(10, TimeUnit.SECONDS);
        // Starts the watchdog.
        timeout.enter();
        timeout.exit();
        long before = switches();
        for (int i = 0; i < READS; i++) {
            if (use) {
                WatchdogTimeout.use();
            }
            timeout.enter();
            Thread.sleep(1);
            timeout.exit();
        }
        return switches() - before;
    }

    /** Returns how often the watchdog has waited for something. */
    private static long switches() throws IOException {
        long switches = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
            for (Path thread : threads) {
                if (!text(thread.resolve("comm")).trim().equals("Okio Watchdog")) {
                    continue;
                }
                for (String line : text(thread.resolve("status")).split("\n")) {
                    if (line.startsWith("voluntary_ctxt_switches:")) {
                        switches += Long.parseLong(line.replaceAll("[^0-9]", ""));
                    }
                }
            }
        }
        return switches;
    }

    private static String text(Path file) throws IOException {
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
