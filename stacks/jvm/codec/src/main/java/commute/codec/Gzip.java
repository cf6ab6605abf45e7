package commute.codec;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** The JDK's streams, which is what apps use; they keep nothing from one call to the next. */
final class Gzip implements Compressor {
    private final int level;

    Gzip(int level) {
        this.level = level;
    }

    @Override
    public byte[] compress(byte[] bytes) throws IOException {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (OutputStream out = new Levelled(compressed, level)) {
            out.write(bytes);
        }
        return compressed.toByteArray();
    }

    @Override
    public byte[] decompress(byte[] bytes) throws IOException {
        try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
            byte[] decompressed = in.readNBytes(LIMIT);
            if (in.read() >= 0) {
                throw new IOException("unpacks to more than " + LIMIT + " bytes");
            }
            return decompressed;
        }
    }

    private static final class Levelled extends GZIPOutputStream {
        Levelled(OutputStream out, int level) throws IOException {
            super(out);
            def.setLevel(level);
        }
    }
}
