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

/** A program's whole life: until the bench says close or goes. */
final class Main {
    /** org.json follows an input as deep as this allows; the others stop at some hundreds of levels. */
    private static final long STACK_BYTES = 16 << 20;

    private Main() {}

    public static void main(String[] arguments) throws InterruptedException {
        keepToTemporaryFolder();
        Thread life = new Thread(null, Main::live, "runner", STACK_BYTES);
        life.start();
        life.join();
    }

    private static void live() {
        String in = System.getenv("COMMUTE_IN");
        String out = System.getenv("COMMUTE_OUT");
        if (in == null || out == null) {
            System.err.println("commute-codec: COMMUTE_IN or COMMUTE_OUT is not set: commute starts this program");
            System.exit(1);
        }
        try (BufferedReader requests = Files.newBufferedReader(Path.of(in)); OutputStream replies = Files.newOutputStream(Path.of(out))) {
            follow(requests, replies);
        } catch (IOException gone) {
            System.err.println("commute-codec: " + gone.getMessage());
            System.exit(1);
        }
    }

    private static void follow(BufferedReader requests, OutputStream replies) throws IOException {
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

    /** zstd-jni unpacks its native part there. Java does not look at TMPDIR by itself. */
    private static void keepToTemporaryFolder() {
        String folder = System.getenv("TMPDIR");
        if (folder != null) {
            System.setProperty("java.io.tmpdir", folder);
        }
    }
}
