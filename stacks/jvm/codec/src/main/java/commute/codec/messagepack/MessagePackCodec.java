package commute.codec.messagepack;

import commute.codec.Generated;
import commute.codec.MessageCodec;
import java.io.IOException;
import java.nio.charset.CodingErrorAction;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;

/** msgpack-core's streaming interface; what it skips may be nested as deep as it likes. */
public abstract class MessagePackCodec<P> implements MessageCodec.Plain<P> {
    /** A string is no bytes; but bytes may be a string, as they were in the old form. */
    private static final MessagePack.UnpackerConfig STOCK =
            new MessagePack.UnpackerConfig().withAllowReadingBinaryAsString(false);
    /** Slower. */
    private static final MessagePack.UnpackerConfig STRICT =
            STOCK.withActionOnMalformedString(CodingErrorAction.REPORT);

    private final Packing<P> packing;

    @SuppressWarnings("unchecked") // The generated class is of this type.
    MessagePackCodec(Class<?> type, String suffix) throws ReflectiveOperationException {
        packing = (Packing<P>) Generated.of("commute.codec.messagepack", type, suffix).getConstructor().newInstance();
    }

    @Override
    public byte[] encode(P plain) throws IOException {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packing.pack(packer, plain);
            return packer.toByteArray();
        }
    }

    @Override
    public P decode(byte[] bytes) throws IOException {
        Unpacking in = new Unpacking(STOCK, bytes);
        P plain = packing.unpack(in);
        if (in.unpacker.hasNext()) {
            throw new MessagePackException("more follows the message");
        }
        if (in.replaced) {
            // Either it was in the message or it stands for what is no UTF-8.
            packing.unpack(new Unpacking(STRICT, bytes));
        }
        return plain;
    }

    /** Messages are maps from names. */
    public static final class Named<P> extends MessagePackCodec<P> {
        public Named(Class<?> type) throws ReflectiveOperationException {
            super(type, "Named");
        }
    }

    /** Messages are arrays of their fields. */
    public static final class Positional<P> extends MessagePackCodec<P> {
        public Positional(Class<?> type) throws ReflectiveOperationException {
            super(type, "Positional");
        }
    }
}
