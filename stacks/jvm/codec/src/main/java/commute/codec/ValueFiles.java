package commute.codec;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Reads and writes value files as plain objects, and caches what was read. */
final class ValueFiles {
    /** A value may be requested again until 32 others were read. */
    private static final int MAX_CACHED = 33;

    /** The values read last: timing requests the same value again and again. */
    private final Map<Path, Object> cache = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Path, Object> eldest) {
            return size() > MAX_CACHED;
        }
    };

    Object read(Path file, Class<?> type) throws IOException {
        Object value = cache.get(file);
        if (value == null || value.getClass() != type) {
            value = parse(file, type);
            // Moves it to the end, even if it was cached as another type.
            cache.remove(file);
            cache.put(file, value);
        }
        return value;
    }

    static Object parse(Path file, Class<?> type) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            return new ValueReader(lines).message(type);
        }
    }

    void write(Path file, String lines) throws IOException {
        cache.remove(file);
        Files.writeString(file, lines);
    }

    /**
     * Returns the lines that {@code write} takes; throws on strings that cannot be encoded as
     * UTF-8.
     */
    static String text(Object plain) throws CharacterCodingException {
        return ValueWriter.text(plain);
    }
}
