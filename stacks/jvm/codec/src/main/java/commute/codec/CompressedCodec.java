package commute.codec;

import java.io.IOException;

/** Another codec with its bytes compressed. */
final class CompressedCodec<P, T> implements MessageCodec<P, T> {
    private final MessageCodec<P, T> inner;
    private final Compressor compressor;

    CompressedCodec(MessageCodec<P, T> inner, Compressor compressor) {
        this.inner = inner;
        this.compressor = compressor;
    }

    @Override
    public T populate(P plain) {
        return inner.populate(plain);
    }

    @Override
    public byte[] encode(T own) throws IOException {
        return compressor.compress(inner.encode(own));
    }

    @Override
    public T decode(byte[] bytes) throws IOException {
        return inner.decode(compressor.decompress(bytes));
    }

    @Override
    public P convert(T own) {
        return inner.convert(own);
    }

    @Override
    public boolean encodesFasterAgain() {
        return inner.encodesFasterAgain();
    }
}
