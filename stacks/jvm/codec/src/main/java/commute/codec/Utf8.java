package commute.codec;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Strict UTF-8, without the replacement characters that Java and its libraries use for invalid
 * input.
 */
public final class Utf8 {
    /** The character that they use for invalid input. */
    public static final char REPLACEMENT = '\uFFFD';

    private Utf8() {}

    /** Throws if the bytes are not UTF-8. */
    public static void check(byte[] bytes) throws CharacterCodingException {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
    }

    /** Encodes a string; throws on an unpaired surrogate. */
    static ByteBuffer encode(String text) throws CharacterCodingException {
        return StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
    }
}
