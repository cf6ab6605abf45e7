package commute.driver;

import java.io.File;
import java.util.Map;

/** The messages of {@code exchange} and their codecs. The engine has none itself, and a phone none at all. */
public interface Messages {
    /** What is said of each codec, by its name. */
    Map<String, String> codecs();

    /** The plain object of a value file, of that kind. */
    Object read(String kind, File valueFile) throws Exception;

    /** The {@code Big} of that size, made by rule. */
    Object big(int size);

    /** Throws {@link Unsupported} for a kind that is not known. */
    Coder coder(String codec, String kind) throws Exception;

    /** Whether two plain objects of a kind say the same. */
    boolean same(Object one, Object other) throws Exception;

    /** Between plain objects of a kind and their bytes; for any thread. */
    interface Coder {
        byte[] encode(Object plain) throws Exception;

        Object decode(byte[] bytes) throws Exception;
    }
}
