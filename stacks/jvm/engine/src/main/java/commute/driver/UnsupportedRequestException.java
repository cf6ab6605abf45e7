package commute.driver;

/** Thrown when the stack cannot do what was requested. The driver itself has not failed. */
public final class UnsupportedRequestException extends Exception {
    final String what;

    public UnsupportedRequestException(String what, String reason) {
        super(reason);
        this.what = what;
    }
}
