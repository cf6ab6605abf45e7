package commute.codec.messagepack;

import commute.codec.Utf8;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessageIntegerOverflowException;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;

/** Wraps an unpacker and checks lengths against the rest of the input. */
public final class CheckedUnpacker {
    public final MessageUnpacker unpacker;
    private final int length;
    /** Whether a string contains U+FFFD, which may replace invalid UTF-8. */
    boolean replaced;

    CheckedUnpacker(MessagePack.UnpackerConfig config, byte[] bytes) {
        unpacker = config.newUnpacker(bytes);
        length = bytes.length;
    }

    String unpackString() throws IOException {
        String string = unpacker.unpackString();
        if (string.indexOf(Utf8.REPLACEMENT) >= 0) {
            replaced = true;
        }
        return string;
    }

    byte[] unpackBytes() throws IOException {
        return unpacker.readPayload(checkCount(unpacker.unpackBinaryHeader()));
    }

    long unpackUnsigned() throws IOException {
        if (unpacker.getNextFormat() == MessageFormat.UINT64) {
            return unpacker.unpackBigInteger().longValue();
        }
        long value = unpacker.unpackLong();
        if (value < 0) {
            throw new MessageIntegerOverflowException(value);
        }
        return value;
    }

    <T> List<T> newList(int elements) {
        return new ArrayList<>(checkCount(elements));
    }

    /** Throws if the input is too short: each element takes at least a byte. */
    private int checkCount(int count) {
        if (count > length - unpacker.getTotalReadBytes()) {
            throw new MessageInsufficientBufferException();
        }
        return count;
    }
}
