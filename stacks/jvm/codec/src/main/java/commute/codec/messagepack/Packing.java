package commute.codec.messagepack;

import java.io.IOException;
import java.math.BigInteger;
import org.msgpack.core.MessagePacker;

/** Packs and unpacks one kind of plain object. */
public interface Packing<P> {
    /** Packs a plain object. */
    void pack(MessagePacker packer, P plain) throws IOException;

    /** Unpacks into a new plain object. */
    P unpack(CheckedUnpacker in) throws IOException;

    /** Packs a long as an unsigned number. */
    static void packUnsigned(MessagePacker packer, long value) throws IOException {
        if (value >= 0) {
            packer.packLong(value);
        } else {
            packer.packBigInteger(new BigInteger(Long.toUnsignedString(value)));
        }
    }
}
