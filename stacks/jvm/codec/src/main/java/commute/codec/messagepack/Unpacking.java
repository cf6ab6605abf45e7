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

/** An unpacker that believes no length beyond its input. */
public final class Unpacking {
    public final MessageUnpacker unpacker;
    private final int length;
    /** Whether a string has U+FFFD, which also stands for what is no UTF-8. */
    boolean replaced;

    Unpacking(MessagePack.UnpackerConfig config, byte[] bytes) {
        unpacker = config.newUnpacker(bytes);
        length = bytes.length;
    }

    String string() throws IOException {
        String string = unpacker.unpackString();
        if (string.indexOf(Utf8.REPLACEMENT) >= 0) {
            replaced = true;
        }
        return string;
    }

    byte[] bytes() throws IOException {
        return unpacker.readPayload(believable(unpacker.unpackBinaryHeader()));
    }

    long unsigned() throws IOException {
        if (unpacker.getNextFormat() == MessageFormat.UINT64) {
            return unpacker.unpackBigInteger().longValue();
        }
        long value = unpacker.unpackLong();
        if (value < 0) {
            throw new MessageIntegerOverflowException(value);
        }
        return value;
    }

    <T> List<T> list(int elements) {
        return new ArrayList<>(believable(elements));
    }

    /** Each element and each byte takes at least a byte of the input. */
    private int believable(int count) {
        if (count > length - unpacker.getTotalReadBytes()) {
            throw new MessageInsufficientBufferException();
        }
        return count;
    }
}
