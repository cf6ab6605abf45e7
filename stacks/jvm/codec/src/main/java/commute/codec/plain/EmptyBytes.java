package commute.codec.plain;

/** The initial value of bytes fields. */
final class EmptyBytes {
    static final byte[] BYTES = {};

    private EmptyBytes() {}
}
