package commute.codec;

/** What was asked is not known or not done here; the runner is well. */
final class Unsupported extends Exception {
    final String what;

    Unsupported(String what, String reason) {
        super(reason);
        this.what = what;
    }
}
