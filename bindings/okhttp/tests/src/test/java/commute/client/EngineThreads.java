package commute.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The engines' threads. They are not the JVM's, so that only the kernel knows them. */
final class EngineThreads {
    private static final Path TASKS = Paths.get("/proc/self/task");

    private EngineThreads() {}

    /** Waits until there are no more than this, and reports whether that came true. */
    static boolean await(long most) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (count() > most && System.nanoTime() < deadline) {
            Thread.sleep(1);
        }
        return count() <= most;
    }

    private static long count() throws IOException {
        try (Stream<Path> tasks = Files.list(TASKS)) {
            return tasks.filter(EngineThreads::isAnEngine).count();
        }
    }

    private static boolean isAnEngine(Path task) {
        try {
            return new String(Files.readAllBytes(task.resolve("comm"))).trim().equals("commute");
        } catch (IOException ended) {
            return false;
        }
    }
}
