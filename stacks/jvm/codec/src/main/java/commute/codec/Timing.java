package commute.codec;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Times one part of a codec. */
final class Timing {
    private static final long MAX_BATCH = 1024;
    /** In bytes of value files. A message takes about as much in memory as in its value file. */
    private static final long MAX_BATCH_BYTES = 256 << 10;

    private final ValueFiles valueFiles;

    Timing(ValueFiles valueFiles) {
        this.valueFiles = valueFiles;
    }

    JsonObject time(Task task) throws UnsupportedException, RefusedException, IOException {
        Part part = Part.parse(task.string("part"));
        task.offer.require(part);
        Part.Step step = part.of(task.codec);
        Stopwatch stopwatch = new Stopwatch();
        if (part == Part.ENCODE && task.codec.encodesFasterAgain()) {
            encodeEachOnce(task, step, stopwatch);
        } else {
            Object input = input(task, part);
            long iterations = task.iterations();
            RefusedException.wrap(() -> stopwatch.repeat(step, input, iterations));
        }
        JsonObject reply = Reply.of("timed");
        reply.addProperty("elapsed_ns", stopwatch.elapsedNs);
        reply.addProperty("heap_bytes", stopwatch.heapBytes);
        reply.addProperty("sink", stopwatch.sink);
        return reply;
    }

    /**
     * Times encoding of fresh messages, because an app encodes a message only once, while it is still
     * in the processor's caches. They are made outside the timed part, in batches that fit a cache.
     */
    private void encodeEachOnce(Task task, Part.Step step, Stopwatch stopwatch) throws RefusedException, IOException {
        Path file = task.file("value_file");
        Object plain = valueFiles.read(file, task.type);
        long batch = Math.max(1, Math.min(MAX_BATCH, MAX_BATCH_BYTES / Files.size(file)));
        for (long remaining = task.iterations(); remaining > 0; remaining -= batch) {
            Object[] messages = new Object[(int) Math.min(remaining, batch)];
            for (int i = 0; i < messages.length; i++) {
                messages[i] = task.codec.populate(plain);
            }
            RefusedException.wrap(() -> stopwatch.each(step, messages));
        }
    }

    /** Returns the part's input. */
    private Object input(Task task, Part part) throws UnsupportedException, RefusedException, IOException {
        switch (part) {
            case POPULATE: return plain(task);
            case ENCODE: return populated(task);
            case DECODE: return bytes(task);
            default:
                byte[] bytes = bytes(task);
                return RefusedException.wrap(() -> task.codec.decode(bytes));
        }
    }

    private byte[] bytes(Task task) throws UnsupportedException, RefusedException, IOException {
        if (task.has("encoded_file")) {
            return Files.readAllBytes(task.file("encoded_file"));
        }
        task.offer.require(Part.ENCODE);
        Object own = populated(task);
        return RefusedException.wrap(() -> task.codec.encode(own));
    }

    private Object populated(Task task) throws RefusedException, IOException {
        Object plain = plain(task);
        return RefusedException.wrap(() -> task.codec.populate(plain));
    }

    private Object plain(Task task) throws IOException {
        return valueFiles.read(task.file("value_file"), task.type);
    }
}
