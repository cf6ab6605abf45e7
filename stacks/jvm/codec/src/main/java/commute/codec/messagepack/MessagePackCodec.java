package commute.codec.messagepack;

import commute.codec.Generated;
import commute.codec.MessageCodec;
import java.io.IOException;
import java.nio.charset.CodingErrorAction;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;

/** msgpack-core's streaming interface. There is no limit on the nesting of skipped values. */
public abstract class MessagePackCodec<P> implements MessageCodec.Plain<P> {
    /** Strings are not accepted for bytes, but bytes are for strings, as in the old form. */
    private static final MessagePack.UnpackerConfig LENIENT =
            new MessagePack.UnpackerConfig().withAllowReadingBinaryAsString(false);
    /** Rejects invalid UTF-8, but is slower. */
    private static final MessagePack.UnpackerConfig STRICT =
            LENIENT.withActionOnMalformedString(CodingErrorAction.REPORT);

    private final Packing<P> packing;

    @SuppressWarnings("unchecked") // The generated class is of this type.
    MessagePackCodec(Class<?> type, String suffix) throws ReflectiveOperationException {
        packing = (Packing<P>) Generated.libraryClass("commute.codec.messagepack", type, suffix).getConstructor().newInstance();
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
        CheckedUnpacker in = new CheckedUnpacker(LENIENT, bytes);
        P plain = packing.unpack(in);
        if (in.unpacker.hasNext()) {
            throw new MessagePackException("trailing bytes after the message");
        }
        if (in.replaced) {
            // Either the message contains U+FFFD, or it replaces invalid UTF-8.
            packing.unpack(new CheckedUnpacker(STRICT, bytes));
        }
        return plain;
    }

    /** Encodes messages as maps from field names to values. */
    public static final class Named<P> extends MessagePackCodec<P> {
        public Named(Class<?> type) throws ReflectiveOperationException {
            super(type, "Named");
        }
    }

    /** Encodes messages as arrays of their fields. */
    public static final class Positional<P> extends MessagePackCodec<P> {
        public Positional(Class<?> type) throws ReflectiveOperationException {
            super(type, "Positional");
        }
    }
}
