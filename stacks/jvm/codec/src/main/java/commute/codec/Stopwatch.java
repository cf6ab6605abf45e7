package commute.codec;

import com.sun.management.ThreadMXBean;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;

/** Times the calls of a part. */
final class Stopwatch {
    static final String HEAP = "bytes allocated by the thread (ThreadMXBean)";

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    long elapsedNs;
    long heapBytes;
    long sink;

    /** All calls get the same input. */
    Stopwatch repeat(Part.Step step, Object input, long iterations) throws Exception {
        begin();
        sink += loop(step, input, iterations);
        return end();
    }

    /** Each call gets its own input. */
    Stopwatch each(Part.Step step, Object[] inputs) throws Exception {
        begin();
        sink += loop(step, inputs);
        return end();
    }

    private void begin() {
        heapBytes -= THREADS.getCurrentThreadAllocatedBytes();
        elapsedNs -= System.nanoTime();
    }

    private Stopwatch end() {
        elapsedNs += System.nanoTime();
        heapBytes += THREADS.getCurrentThreadAllocatedBytes();
        return this;
    }

    private static long loop(Part.Step step, Object input, long iterations) throws Exception {
        long sum = 0;
        for (long i = 0; i < iterations; i++) {
            sum += swallow(step.run(input));
        }
        return sum;
    }

    private static long loop(Part.Step step, Object[] inputs) throws Exception {
        long sum = 0;
        for (Object input : inputs) {
            sum += swallow(step.run(input));
        }
        return sum;
    }

    /** What a result counts. It is stored where all can see it, so no compiler can leave its making out. */
    private static long swallow(Object result) {
        LAST.setOpaque(result);
        return result instanceof byte[] ? ((byte[]) result).length : 1;
    }

    @SuppressWarnings("unused") // Through LAST.
    private static Object last;
    private static final VarHandle LAST;

    static {
        try {
            LAST = MethodHandles.lookup().findStaticVarHandle(Stopwatch.class, "last", Object.class);
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
