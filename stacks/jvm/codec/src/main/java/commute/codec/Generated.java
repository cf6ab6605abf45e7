package commute.codec;

/** The classes that codec-generator wrote, by the message's name. */
public final class Generated {
    private Generated() {}

    /** The kind of plain object. */
    static Class<?> plain(String message) throws Unsupported {
        try {
            // Annotations and the like share the package; messages alone are public classes.
            Class<?> type = Class.forName("commute.codec.plain." + message);
            if (type.getConstructors().length == 1) {
                return type;
            }
        } catch (ClassNotFoundException unknown) {
            // Said below.
        }
        throw new Unsupported("message " + message, "the schema has none of this name");
    }

    /** What a library has for that kind. */
    public static Class<?> of(String folder, Class<?> plain, String suffix) throws ClassNotFoundException {
        return Class.forName(folder + "." + plain.getSimpleName() + suffix);
    }
}
