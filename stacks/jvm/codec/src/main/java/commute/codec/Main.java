package commute.codec;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs the codec runner until the bench sends close or disconnects. */
final class Main {
    /**
     * org.json recurses as deep as the stack allows; the other libraries stop at a few hundred
     * levels.
     */
    private static final long STACK_BYTES = 16 << 20;

    private Main() {}

    public static void main(String[] arguments) throws InterruptedException {
        useTmpdir();
        Thread thread = new Thread(null, Main::serve, "runner", STACK_BYTES);
        thread.start();
        thread.join();
    }

    private static void serve() {
        String in = System.getenv("COMMUTE_IN");
        String out = System.getenv("COMMUTE_OUT");
        if (in == null || out == null) {
            System.err.println("commute-codec: COMMUTE_IN or COMMUTE_OUT is not set: commute starts this program");
            System.exit(1);
        }
        try (BufferedReader requests = Files.newBufferedReader(Path.of(in)); OutputStream replies = Files.newOutputStream(Path.of(out))) {
            answerAll(requests, replies);
        } catch (IOException disconnected) {
            System.err.println("commute-codec: " + disconnected.getMessage());
            System.exit(1);
        }
    }

    private static void answerAll(BufferedReader requests, OutputStream replies) throws IOException {
        Runner runner = new Runner();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            JsonObject reply = answer(runner, line);
            if (reply == null) {
                return;
            }
            replies.write((reply + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }

    private static JsonObject answer(Runner runner, String line) {
        try {
            return runner.answer(JsonParser.parseString(line).getAsJsonObject());
        } catch (JsonParseException | IllegalStateException malformed) {
            return Reply.failed(malformed);
        }
    }

    /** Makes zstd-jni unpack its native part into TMPDIR, which Java itself ignores. */
    private static void useTmpdir() {
        String folder = System.getenv("TMPDIR");
        if (folder != null) {
            System.setProperty("java.io.tmpdir", folder);
        }
    }
}
