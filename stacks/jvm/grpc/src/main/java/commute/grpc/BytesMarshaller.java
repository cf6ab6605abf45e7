package commute.grpc;

import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Passes bytes through: the messages of an exchange or a submit are encoded and decoded outside the library. */
final class BytesMarshaller implements MethodDescriptor.Marshaller<byte[]> {
    /** Returns the method of that name. */
    static MethodDescriptor<byte[], byte[]> method(String fullName, MethodDescriptor.MethodType type) {
        BytesMarshaller marshaller = new BytesMarshaller();
        return MethodDescriptor.newBuilder(marshaller, marshaller).setType(type).setFullMethodName(fullName).build();
    }

    @Override
    public InputStream stream(byte[] message) {
        return new KnownLengthStream(message);
    }

    @Override
    public byte[] parse(InputStream message) {
        try {
            return message.readAllBytes();
        } catch (IOException broken) {
            throw Status.INTERNAL.withCause(broken).asRuntimeException();
        }
    }

    /**
     * Tells grpc-java the length, as generated classes do. Otherwise it would buffer the bytes
     * first.
     */
    private static final class KnownLengthStream extends ByteArrayInputStream implements KnownLength {
        KnownLengthStream(byte[] bytes) {
            super(bytes);
        }
    }
}
