package commute.codec;

import java.io.IOException;

/**
 * One library's codec for one kind of message. {@code P} is the plain object and {@code T} the
 * library's own, which is the same for libraries that work on plain objects. Any exception that a
 * part throws means that its input is not such a message.
 */
public interface MessageCodec<P, T> {
    /** Converts a plain object into the library's own. */
    T populate(P plain);

    /** Encodes the library's own object. */
    byte[] encode(T own) throws IOException;

    /** Decodes into a new object of the library's own. */
    T decode(byte[] bytes) throws IOException;

    /** Converts the library's own object into a plain one. */
    P convert(T own);

    /** Returns whether encoding the same object again is faster than the first time. */
    default boolean encodesFasterAgain() {
        return false;
    }

    /** The codec of a library that works on plain objects. */
    interface Plain<P> extends MessageCodec<P, P> {
        @Override
        default P populate(P plain) {
            return plain;
        }

        @Override
        default P convert(P plain) {
            return plain;
        }
    }
}
