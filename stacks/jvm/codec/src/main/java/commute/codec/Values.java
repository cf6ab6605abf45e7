package commute.codec;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** Value files, as plain objects. */
final class Values {
    /** What was read of late, for being timed again and again. */
    private final Map<Path, Object> read = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Path, Object> eldest) {
            return size() > KEPT;
        }
    };

    Object read(Path file, Class<?> type) throws IOException {
        Object known = read.get(file);
        if (known == null || known.getClass() != type) {
            known = parse(file, type);
            // Last in, even if it was there of another kind.
            read.remove(file);
            read.put(file, known);
        }
        return known;
    }

    static Object parse(Path file, Class<?> type) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            return new ValueReader(lines).message(type);
        }
    }

    void write(Path file, String lines) throws IOException {
        read.remove(file);
        Files.writeString(file, lines);
    }

    /** What {@code write} takes. Refuses strings that are no text. */
    static String text(Object plain) throws CharacterCodingException {
        return ValueWriter.text(plain);
    }

    /** One may be asked for again until another 32 were read. */
    private static final int KEPT = 33;
}
