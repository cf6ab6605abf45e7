package commute.codec;

import java.io.IOException;

/**
 * One library's way with one kind of message. {@code P} is the plain object, {@code T} the
 * library's own, which is the plain one where it works on that. Whatever a part throws, but for
 * errors of the machine, says that its input is no such message.
 */
public interface MessageCodec<P, T> {
    T populate(P plain);

    byte[] encode(T own) throws IOException;

    T decode(byte[] bytes) throws IOException;

    P convert(T own);

    /** Whether an object that was encoded is encoded faster again. */
    default boolean encodesFasterAgain() {
        return false;
    }

    /** Of a library that works on plain objects. */
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
