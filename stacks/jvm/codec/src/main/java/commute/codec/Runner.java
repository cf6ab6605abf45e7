package commute.codec;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;

/** Answers the bench's requests (docs/codec-runner.md). */
final class Runner {
    private final ValueFiles valueFiles = new ValueFiles();
    private final Timing timing = new Timing(valueFiles);

    /** Returns the reply, or null after close. */
    JsonObject answer(JsonObject request) {
        try {
            String type = Task.string(request, "type");
            switch (type) {
                case "hello": return hello();
                // The plain classes are generated from the schema.
                case "setup": return Reply.of("ready");
                case "encode": return encode(new Task(request));
                case "decode": return decode(new Task(request));
                case "time": return timing.time(new Task(request));
                case "close": return null;
                default: throw new UnsupportedException("request " + type, "unknown to this runner");
            }
        } catch (UnsupportedException refusal) {
            return Reply.of(refusal);
        } catch (RefusedException refusal) {
            return Reply.of(refusal);
        } catch (Exception failure) {
            return Reply.failed(failure);
        }
    }

    private static JsonObject hello() {
        JsonObject reply = Reply.of("hello");
        reply.addProperty("version", 2);
        reply.addProperty("runtime", "jvm");
        reply.addProperty("runtime_version", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
        JsonArray codecs = new JsonArray();
        Codecs.ALL.forEach(offer -> codecs.add(offer.toJson()));
        reply.add("codecs", codecs);
        reply.addProperty("heap", Stopwatch.HEAP);
        return reply;
    }

    private JsonObject encode(Task task) throws UnsupportedException, RefusedException, IOException {
        task.offer.require(Part.ENCODE);
        Object plain = valueFiles.read(task.file("value_file"), task.type);
        byte[] bytes = RefusedException.wrap(() -> task.codec.encode(task.codec.populate(plain)));
        Files.write(task.file("encoded_file"), bytes);
        JsonObject reply = Reply.of("encoded");
        reply.addProperty("bytes", bytes.length);
        return reply;
    }

    private JsonObject decode(Task task) throws UnsupportedException, RefusedException, IOException {
        task.offer.require(Part.DECODE);
        byte[] bytes = Files.readAllBytes(task.file("encoded_file"));
        String value = RefusedException.wrap(() -> ValueFiles.text(task.codec.convert(task.codec.decode(bytes))));
        valueFiles.write(task.file("value_file"), value);
        return Reply.of("decoded");
    }
}
