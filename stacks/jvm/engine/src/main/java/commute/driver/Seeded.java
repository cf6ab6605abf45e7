package commute.driver;

/** The bytes that {@code put} sends: SplitMix64 from seed 0, little endian. */
public final class Seeded {
    private static byte[] longest = new byte[0];

    private Seeded() {}

    /** Returns at least that many bytes. They are shared and must not be written to. */
    public static synchronized byte[] atLeast(int length) {
        if (longest.length < length) {
            longest = make(length);
        }
        return longest;
    }

    private static byte[] make(int length) {
        byte[] bytes = new byte[length];
        long state = 0;
        long word = 0;
        for (int at = 0; at < length; at++, word >>>= 8) {
            if (at % 8 == 0) {
                state += 0x9e3779b97f4a7c15L;
                word = (state ^ (state >>> 30)) * 0xbf58476d1ce4e5b9L;
                word = (word ^ (word >>> 27)) * 0x94d049bb133111ebL;
                word ^= word >>> 31;
            }
            bytes[at] = (byte) word;
        }
        return bytes;
    }
}
