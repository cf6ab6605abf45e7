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

/** protobuf-javalite; nesting is refused from 100 levels by the library itself. */
public abstract class ProtobufCodec<P, M extends MessageLite> implements MessageCodec<P, M> {
    private final Mapping<P, M> mapping;
    final Parser<M> parser;

    @SuppressWarnings("unchecked") // The generated mapping is of this type.
    ProtobufCodec(Class<?> type) throws ReflectiveOperationException {
        mapping = (Mapping<P, M>) Generated.of("commute.codec.protobuf", type, "Mapping").getConstructor().newInstance();
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

    /** A message counts its bytes when first encoded and remembers the sum, its parts theirs. */
    @Override
    public boolean encodesFasterAgain() {
        return true;
    }

    /** As most apps do. */
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

    /** Through coded streams over an array of the right size. */
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

    /** Through Java's streams. */
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
            // parseFrom(InputStream) but for this line, without which a message that ends early
            // between two fields of an inner one is taken.
            in.pushLimit(bytes.length);
            M message = parser.parseFrom(in);
            in.checkLastTagWas(0);
            return message;
        }
    }
}
