package commute.codec;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** The JDK's streams, as apps use them. They keep no state between calls. */
final class Gzip implements Compressor {
    private final int level;

    Gzip(int level) {
        this.level = level;
    }

    @Override
    public byte[] compress(byte[] bytes) throws IOException {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (OutputStream out = new LeveledGzipOutputStream(compressed, level)) {
            out.write(bytes);
        }
        return compressed.toByteArray();
    }

    @Override
    public byte[] decompress(byte[] bytes) throws IOException {
        try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
            byte[] decompressed = in.readNBytes(MAX_DECOMPRESSED);
            if (in.read() >= 0) {
                throw new IOException("decompressed to more than " + MAX_DECOMPRESSED + " bytes");
            }
            return decompressed;
        }
    }

    private static final class LeveledGzipOutputStream extends GZIPOutputStream {
        LeveledGzipOutputStream(OutputStream out, int level) throws IOException {
            super(out);
            def.setLevel(level);
        }
    }
}
