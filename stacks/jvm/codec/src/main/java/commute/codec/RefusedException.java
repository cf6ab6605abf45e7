package commute.codec;

import java.util.concurrent.Callable;

/** Thrown if a library rejects its input, or the input exceeds this machine's memory or stack. */
final class RefusedException extends Exception {
    private RefusedException(Throwable cause) {
        super(cause);
    }

    /** Runs a library on untrusted input and wraps whatever it throws. */
    static <T> T wrap(Callable<T> work) throws RefusedException {
        try {
            return work.call();
        } catch (Exception | StackOverflowError | OutOfMemoryError cause) {
            throw new RefusedException(cause);
        }
    }
}
