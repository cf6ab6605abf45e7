package commute.codec.protobuf;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import commute.codec.Generated;
import commute.codec.MessageCodec;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;

/** protobuf-javalite. The library rejects nesting of 100 levels or more. */
public abstract class ProtobufCodec<P, M extends MessageLite> implements MessageCodec<P, M> {
    private final Mapping<P, M> mapping;
    final Parser<M> parser;

    @SuppressWarnings("unchecked") // The generated mapping is of this type.
    ProtobufCodec(Class<?> type) throws ReflectiveOperationException {
        mapping = (Mapping<P, M>) Generated.libraryClass("commute.codec.protobuf", type, "Mapping").getConstructor().newInstance();
        parser = mapping.parser();
    }

    @Override
    public M populate(P plain) {
        return mapping.populate(plain);
    }

    @Override
    public P convert(M message) {
        return mapping.convert(message);
    }

    /** A message, and each inner one, caches its size when first encoded. */
    @Override
    public boolean encodesFasterAgain() {
        return true;
    }

    /** Uses byte arrays, as most apps do. */
    public static final class Bytes<P, M extends MessageLite> extends ProtobufCodec<P, M> {
        public Bytes(Class<?> type) throws ReflectiveOperationException {
            super(type);
        }

        @Override
        public byte[] encode(M message) {
            return message.toByteArray();
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            return parser.parseFrom(bytes);
        }
    }

    /** Uses coded streams over an array of the exact size. */
    public static final class Coded<P, M extends MessageLite> extends ProtobufCodec<P, M> {
        public Coded(Class<?> type) throws ReflectiveOperationException {
            super(type);
        }

        @Override
        public byte[] encode(M message) throws IOException {
            byte[] bytes = new byte[message.getSerializedSize()];
            CodedOutputStream out = CodedOutputStream.newInstance(bytes);
            message.writeTo(out);
            out.checkNoSpaceLeft();
            return bytes;
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            CodedInputStream in = CodedInputStream.newInstance(bytes);
            M message = parser.parseFrom(in);
            in.checkLastTagWas(0);
            return message;
        }
    }

    /** Uses Java's streams. */
    public static final class Stream<P, M extends MessageLite> extends ProtobufCodec<P, M> {
        public Stream(Class<?> type) throws ReflectiveOperationException {
            super(type);
        }

        @Override
        public byte[] encode(M message) throws IOException {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            message.writeTo(out);
            return out.toByteArray();
        }

        @Override
        public M decode(byte[] bytes) throws IOException {
            CodedInputStream in = CodedInputStream.newInstance(new ByteArrayInputStream(bytes));
            // Does what parseFrom(InputStream) does, plus the limit. Without it the library accepts a
            // message that is truncated between two fields of an inner one.
            in.pushLimit(bytes.length);
            M message = parser.parseFrom(in);
            in.checkLastTagWas(0);
            return message;
        }
    }
}
