package commute.codec;

/** Finds the classes that codec-generator wrote, by message name. */
public final class Generated {
    private Generated() {}

    /** Returns the class of plain objects. */
    static Class<?> plainClass(String message) throws UnsupportedException {
        try {
            // The package has other types too, but only messages are public classes.
            Class<?> type = Class.forName("commute.codec.plain." + message);
            if (type.getConstructors().length == 1) {
                return type;
            }
        } catch (ClassNotFoundException unknown) {
            // Reported below.
        }
        throw new UnsupportedException("message " + message, "not in the schema");
    }

    /** Returns a library's class for that kind of message. */
    public static Class<?> libraryClass(String packageName, Class<?> plain, String suffix) throws ClassNotFoundException {
        return Class.forName(packageName + "." + plain.getSimpleName() + suffix);
    }
}
