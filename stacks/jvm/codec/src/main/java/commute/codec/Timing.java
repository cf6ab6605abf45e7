package commute.codec;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Times one part of a codec. */
final class Timing {
    private final Values values;

    Timing(Values values) {
        this.values = values;
    }

    JsonObject time(Task task) throws Unsupported, Refused, IOException {
        Part part = Part.named(task.word("part"));
        task.offer.require(part);
        Part.Step step = part.of(task.codec);
        Stopwatch watch = new Stopwatch();
        if (part == Part.ENCODE && task.codec.encodesFasterAgain()) {
            encodeEachOnce(task, step, watch);
        } else {
            Object input = input(task, part);
            long iterations = task.iterations();
            Refused.unless(() -> watch.repeat(step, input, iterations));
        }
        JsonObject reply = Reply.of("timed");
        reply.addProperty("elapsed_ns", watch.elapsedNs);
        reply.addProperty("heap_bytes", watch.heapBytes);
        reply.addProperty("sink", watch.sink);
        return reply;
    }

    /**
     * An app encodes a message once, while it is still in the processor's caches. So fresh ones
     * are made, outside the time, as many as a cache may hold, and that again until it is done.
     */
    private void encodeEachOnce(Task task, Part.Step step, Stopwatch watch) throws Refused, IOException {
        Path file = task.file("value_file");
        Object plain = values.read(file, task.type);
        long ahead = Math.max(1, Math.min(AHEAD, AHEAD_BYTES / Files.size(file)));
        for (long left = task.iterations(); left > 0; left -= ahead) {
            Object[] messages = new Object[(int) Math.min(left, ahead)];
            for (int i = 0; i < messages.length; i++) {
                messages[i] = task.codec.populate(plain);
            }
            Refused.unless(() -> watch.each(step, messages));
        }
    }

    /** What the part works on. */
    private Object input(Task task, Part part) throws Unsupported, Refused, IOException {
        switch (part) {
            case POPULATE: return plain(task);
            case ENCODE: return populated(task);
            case DECODE: return bytes(task);
            default:
                byte[] bytes = bytes(task);
                return Refused.unless(() -> task.codec.decode(bytes));
        }
    }

    private byte[] bytes(Task task) throws Unsupported, Refused, IOException {
        if (task.has("encoded_file")) {
            return Files.readAllBytes(task.file("encoded_file"));
        }
        task.offer.require(Part.ENCODE);
        Object own = populated(task);
        return Refused.unless(() -> task.codec.encode(own));
    }

    private Object populated(Task task) throws Refused, IOException {
        Object plain = plain(task);
        return Refused.unless(() -> task.codec.populate(plain));
    }

    private Object plain(Task task) throws IOException {
        return values.read(task.file("value_file"), task.type);
    }

    /** Of a value file, whose message then takes about as much in memory. */
    private static final long AHEAD_BYTES = 256 << 10;
    private static final long AHEAD = 1024;
}
