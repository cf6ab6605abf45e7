package commute.codec;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;

/** Answers the bench's requests (docs/codec-runner.md). */
final class Runner {
    private final Values values = new Values();
    private final Timing timing = new Timing(values);

    /** Null when that was the last word. */
    JsonObject answer(JsonObject request) {
        try {
            String type = Task.word(request, "type");
            switch (type) {
                case "hello": return hello();
                // The plain classes are the schema.
                case "setup": return Reply.of("ready");
                case "encode": return encode(new Task(request));
                case "decode": return decode(new Task(request));
                case "time": return timing.time(new Task(request));
                case "close": return null;
                default: throw new Unsupported("request " + type, "this runner does not know it");
            }
        } catch (Unsupported refusal) {
            return Reply.of(refusal);
        } catch (Refused refusal) {
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
        Codecs.ALL.forEach(offer -> codecs.add(offer.hello()));
        reply.add("codecs", codecs);
        reply.addProperty("heap", Stopwatch.HEAP);
        return reply;
    }

    private JsonObject encode(Task task) throws Unsupported, Refused, IOException {
        task.offer.require(Part.ENCODE);
        Object plain = values.read(task.file("value_file"), task.type);
        byte[] bytes = Refused.unless(() -> task.codec.encode(task.codec.populate(plain)));
        Files.write(task.file("encoded_file"), bytes);
        JsonObject reply = Reply.of("encoded");
        reply.addProperty("bytes", bytes.length);
        return reply;
    }

    private JsonObject decode(Task task) throws Unsupported, Refused, IOException {
        task.offer.require(Part.DECODE);
        byte[] bytes = Files.readAllBytes(task.file("encoded_file"));
        String value = Refused.unless(() -> Values.text(task.codec.convert(task.codec.decode(bytes))));
        values.write(task.file("value_file"), value);
        return Reply.of("decoded");
    }
}
