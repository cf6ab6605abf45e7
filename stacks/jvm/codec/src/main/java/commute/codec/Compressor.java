package commute.codec;

import java.io.IOException;

/** Compresses and decompresses bytes. */
interface Compressor {
    /** Decompressing to more bytes than this fails. */
    int MAX_DECOMPRESSED = 64 << 20;

    byte[] compress(byte[] bytes) throws IOException;

    byte[] decompress(byte[] bytes) throws IOException;
}
