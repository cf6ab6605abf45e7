package commute.codec.plain;

/** What fields of bytes begin with. */
final class Empty {
    static final byte[] BYTES = {};

    private Empty() {}
}
