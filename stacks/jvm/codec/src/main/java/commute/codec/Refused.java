package commute.codec;

import java.util.concurrent.Callable;

/** The library found its input to be no such message, or more than this machine can take. */
final class Refused extends Exception {
    private Refused(Throwable cause) {
        super(cause);
    }

    /** What a library does with bytes or objects that nobody answers for. */
    static <T> T unless(Callable<T> work) throws Refused {
        try {
            return work.call();
        } catch (Exception | StackOverflowError | OutOfMemoryError wrong) {
            throw new Refused(wrong);
        }
    }
}
