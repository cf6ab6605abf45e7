package commute.codec;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** UTF-8 without the replacements that Java and its libraries make of what is wrong. */
public final class Utf8 {
    /** What they put in its place. */
    public static final char REPLACEMENT = '\uFFFD';

    private Utf8() {}

    /** Refuses what is no UTF-8. */
    public static void check(byte[] bytes) throws CharacterCodingException {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
    }

    /** Refuses half of a pair. */
    static ByteBuffer of(String text) throws CharacterCodingException {
        return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
    }
}
