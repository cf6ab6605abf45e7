package commute.driver;

import java.io.File;
import java.util.List;
import java.util.Map;

/**
 * The messages of {@code exchange} and their codecs. The engine itself has none, and the app for
 * phones has none at all.
 */
public interface Messages {
    /** Returns each codec's library and version, by the codec's name. */
    Map<String, String> codecs();

    /** Reads a value file into a plain object of that kind. */
    Object read(String kind, File valueFile) throws Exception;

    /** Makes the {@code Big} of that size. */
    Object makeBig(int size);

    /** Returns {@code Diag}s with the successive bytes of a {@code Diag}'s payload, at most that many. */
    List<Object> parts(Object plain, int chunkBytes) throws UnsupportedRequestException;

    /**
     * Returns a coder, or throws {@link UnsupportedRequestException} for an unknown codec or kind.
     */
    Coder coder(String codec, String kind) throws Exception;

    /** Returns whether two plain objects of one kind are equal. */
    boolean equal(Object one, Object other) throws Exception;

    /** Converts between plain objects of one kind and their bytes, on any thread. */
    interface Coder {
        byte[] encode(Object plain) throws Exception;

        Object decode(byte[] bytes) throws Exception;
    }
}
