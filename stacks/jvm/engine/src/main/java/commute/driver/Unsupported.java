package commute.driver;

/** This stack cannot do what was asked; the driver is well. */
public final class Unsupported extends Exception {
    final String what;

    public Unsupported(String what, String reason) {
        super(reason);
        this.what = what;
    }
}
