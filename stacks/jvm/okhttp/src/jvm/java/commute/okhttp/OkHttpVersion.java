package commute.okhttp;

/** Finds the version of OkHttp on the class path. Its constants would be those of compile time. */
final class OkHttpVersion {
    private OkHttpVersion() {}

    static String loaded() throws ReflectiveOperationException {
        try {
            return (String) Class.forName("okhttp3.OkHttp").getField("VERSION").get(null);
        } catch (ClassNotFoundException before4) {
            String agent = (String) Class.forName("okhttp3.internal.Version").getMethod("userAgent").invoke(null);
            return agent.replace("okhttp/", "");
        }
    }
}
