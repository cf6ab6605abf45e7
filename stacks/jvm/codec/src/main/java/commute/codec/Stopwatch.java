package commute.codec;

import com.sun.management.ThreadMXBean;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;

/** Times runs of a part. */
final class Stopwatch {
    static final String HEAP = "bytes allocated by the thread (ThreadMXBean)";

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @SuppressWarnings("unused") // Accessed through LAST.
    private static Object last;
    private static final VarHandle LAST;

    static {
        try {
            LAST = MethodHandles.lookup().findStaticVarHandle(Stopwatch.class, "last", Object.class);
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    long elapsedNs;
    long heapBytes;
    long sink;

    /** Times runs that all get the same input. */
    Stopwatch repeat(Part.Step step, Object input, long iterations) throws Exception {
        begin();
        sink += loop(step, input, iterations);
        return end();
    }

    /** Times one run per input. */
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
            sum += consume(step.run(input));
        }
        return sum;
    }

    private static long loop(Part.Step step, Object[] inputs) throws Exception {
        long sum = 0;
        for (Object input : inputs) {
            sum += consume(step.run(input));
        }
        return sum;
    }

    /**
     * Returns what a result adds to the sink. Also stores the result where other threads could see it,
     * so that the compiler cannot omit making it.
     */
    private static long consume(Object result) {
        LAST.setOpaque(result);
        return result instanceof byte[] ? ((byte[]) result).length : 1;
    }
}
