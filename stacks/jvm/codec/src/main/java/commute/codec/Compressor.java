package commute.codec;

import java.io.IOException;

/** Makes bytes fewer and back. */
interface Compressor {
    /** What unpacks to more is refused. */
    int LIMIT = 64 << 20;

    byte[] compress(byte[] bytes) throws IOException;

    byte[] decompress(byte[] bytes) throws IOException;
}
