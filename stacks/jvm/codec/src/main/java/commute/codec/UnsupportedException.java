package commute.codec;

/**
 * Thrown when the runner does not know or support what was requested. The runner itself has not
 * failed.
 */
final class UnsupportedException extends Exception {
    final String what;

    UnsupportedException(String what, String reason) {
        super(reason);
        this.what = what;
    }
}
