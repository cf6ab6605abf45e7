package commute.okhttp;

/** The version of OkHttp on the class path; its constants would be those at compile time. */
final class Loaded {
    private Loaded() {}

    static String version() throws ReflectiveOperationException {
        try {
            return (String) Class.forName("okhttp3.OkHttp").getField("VERSION").get(null);
        } catch (ClassNotFoundException before4) {
            String agent = (String) Class.forName("okhttp3.internal.Version").getMethod("userAgent").invoke(null);
            return agent.replace("okhttp/", "");
        }
    }
}
