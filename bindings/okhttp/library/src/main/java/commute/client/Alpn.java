package commute.client;

import java.lang.reflect.Method;
import javax.net.ssl.SSLParameters;

/** The protocols that OkHttp offers over TCP, where the platform's TLS parameters have them. */
final class Alpn {
    private static final String[] PROTOCOLS = {"h2", "http/1.1"};
    /** Null before Java 9 and Android 10. */
    private static final Method SET = setter();

    private Alpn() {}

    static void offer(SSLParameters parameters) {
        if (SET == null) {
            return;
        }
        try {
            SET.invoke(parameters, (Object) PROTOCOLS);
        } catch (ReflectiveOperationException refused) {
            // Then the parameters say nothing of protocols, as on older platforms.
        }
    }

    private static Method setter() {
        try {
            return SSLParameters.class.getMethod("setApplicationProtocols", String[].class);
        } catch (NoSuchMethodException older) {
            return null;
        }
    }
}
