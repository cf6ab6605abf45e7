package commute.driver;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;

/** A response's body, kept in memory so that it can be digested after the call. */
public final class ReceivedBody {
    private static final int CHUNK_BYTES = 64 << 10;

    private final List<byte[]> full = new ArrayList<>();
    private byte[] last = new byte[0];
    private int lastBytes;
    private long bytes;

    /** Reads to the end of the stream. */
    public void readAll(InputStream in) throws IOException {
        for (;;) {
            makeRoom();
            int count = in.read(last, lastBytes, last.length - lastBytes);
            if (count < 0) {
                return;
            }
            grow(count);
        }
    }

    /** Appends bytes. */
    public void add(byte[] more) {
        int at = 0;
        while (at < more.length) {
            makeRoom();
            int count = Math.min(more.length - at, last.length - lastBytes);
            System.arraycopy(more, at, last, lastBytes, count);
            grow(count);
            at += count;
        }
    }

    /**
     * Throws if bytes are missing: some libraries take any end of a connection or stream for the
     * end of the body.
     */
    public void requireLength(long expectedBytes) throws EOFException {
        if (bytes < expectedBytes) {
            throw new EOFException("the body ended after " + bytes + " of " + expectedBytes + " bytes");
        }
    }

    long bytes() {
        return bytes;
    }

    /** Returns the whole body in one array. */
    byte[] toByteArray() {
        byte[] whole = new byte[(int) bytes];
        int at = 0;
        for (byte[] chunk : full) {
            System.arraycopy(chunk, 0, whole, at, chunk.length);
            at += chunk.length;
        }
        System.arraycopy(last, 0, whole, at, lastBytes);
        return whole;
    }

    String sha256() {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (byte[] chunk : full) {
                digest.update(chunk);
            }
            digest.update(last, 0, lastBytes);
            StringBuilder hex = new StringBuilder();
            for (byte octet : digest.digest()) {
                hex.append(Character.forDigit((octet >> 4) & 15, 16)).append(Character.forDigit(octet & 15, 16));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError("every Java has SHA-256", impossible);
        }
    }

    private void makeRoom() {
        if (lastBytes < last.length) {
            return;
        }
        if (lastBytes > 0) {
            full.add(last);
        }
        // Most replies are small.
        last = new byte[bytes == 0 ? CHUNK_BYTES / 16 : CHUNK_BYTES];
        lastBytes = 0;
    }

    private void grow(int count) {
        lastBytes += count;
        bytes += count;
    }
}
