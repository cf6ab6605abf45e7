package commute.grpc;

import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Messages that are bytes already: an exchange's are encoded and decoded outside the library. */
final class ByteMessages implements MethodDescriptor.Marshaller<byte[]> {
    /** Of {@code exchange.proto}, for that kind of message. */
    static MethodDescriptor<byte[], byte[]> method(String kind) {
        ByteMessages bytes = new ByteMessages();
        return MethodDescriptor.newBuilder(bytes, bytes)
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("commute.bench.v1.Exchange/" + kind)
                .build();
    }

    @Override
    public InputStream stream(byte[] message) {
        return new Whole(message);
    }

    @Override
    public byte[] parse(InputStream message) {
        try {
            return message.readAllBytes();
        } catch (IOException broken) {
            throw Status.INTERNAL.withCause(broken).asRuntimeException();
        }
    }

    /** A length that is known is written ahead, as generated classes do; else grpc-java collects the bytes first. */
    private static final class Whole extends ByteArrayInputStream implements KnownLength {
        Whole(byte[] bytes) {
            super(bytes);
        }
    }
}
