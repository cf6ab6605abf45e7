package commute.codec;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import com.github.luben.zstd.ZstdInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;

/** zstd-jni with its contexts reused, as its authors recommend for many small inputs. */
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
        } catch (ZstdException noSize) {
            // Either the frame omits its content's size, which is optional, or it is not a frame.
            return decompressUnsized(bytes);
        }
        if (size > MAX_DECOMPRESSED) {
            throw tooLarge();
        }
        return decompression.decompress(bytes, (int) size);
    }

    private static byte[] decompressUnsized(byte[] bytes) throws IOException {
        try (InputStream in = new ZstdInputStream(new ByteArrayInputStream(bytes))) {
            byte[] decompressed = in.readNBytes(MAX_DECOMPRESSED);
            if (in.read() >= 0) {
                throw tooLarge();
            }
            return decompressed;
        }
    }

    private static IOException tooLarge() {
        return new IOException("decompressed to more than " + MAX_DECOMPRESSED + " bytes");
    }
}
