package commute.codec.messagepack;

import java.io.IOException;
import java.math.BigInteger;
import org.msgpack.core.MessagePacker;

/** Writes and reads a kind of plain object. */
public interface Packing<P> {
    void pack(MessagePacker packer, P plain) throws IOException;

    P unpack(Unpacking in) throws IOException;

    /** Packs the long as one from 0 to 2^64 - 1. */
    static void unsigned(MessagePacker packer, long value) throws IOException {
        if (value >= 0) {
            packer.packLong(value);
        } else {
            packer.packBigInteger(new BigInteger(Long.toUnsignedString(value)));
        }
    }
}
