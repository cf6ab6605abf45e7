package commute.codec;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import com.github.luben.zstd.ZstdInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;

/** zstd-jni with contexts kept, as its authors advise for many small pieces. */
final class Zstandard implements Compressor {
    private final ZstdCompressCtx compression = new ZstdCompressCtx();
    private final ZstdDecompressCtx decompression = new ZstdDecompressCtx();

    Zstandard(int level) {
        compression.setLevel(level);
    }

    @Override
    public byte[] compress(byte[] bytes) {
        return compression.compress(bytes);
    }

    @Override
    public byte[] decompress(byte[] bytes) throws IOException {
        long size;
        try {
            size = Zstd.getFrameContentSize(bytes);
        } catch (ZstdException unsaid) {
            // Either it does not say how long its content is, as it need not, or it is no frame.
            return decompressUnsized(bytes);
        }
        if (size > LIMIT) {
            throw tooLarge();
        }
        return decompression.decompress(bytes, (int) size);
    }

    private static byte[] decompressUnsized(byte[] bytes) throws IOException {
        try (InputStream in = new ZstdInputStream(new ByteArrayInputStream(bytes))) {
            byte[] decompressed = in.readNBytes(LIMIT);
            if (in.read() >= 0) {
                throw tooLarge();
            }
            return decompressed;
        }
    }

    private static IOException tooLarge() {
        return new IOException("unpacks to more than " + LIMIT + " bytes");
    }
}
