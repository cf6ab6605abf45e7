package commute.client;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.X509TrustManager;

/**
 * Android's check of certificates, which knows the host and returns the cleaned chain. Android's own trust
 * manager refuses the other one if the app's network security configuration differs by domain. It is a
 * class of Android's, {@code X509TrustManagerExtensions}, which is found by its name, since the JDK has none.
 */
final class HostAwareCheck {
    private static final Constructor<?> MAKE;
    private static final Method CHECK;

    static {
        Constructor<?> make = null;
        Method check = null;
        try {
            Class<?> extensions = Class.forName("android.net.http.X509TrustManagerExtensions");
            make = extensions.getConstructor(X509TrustManager.class);
            check = extensions.getMethod("checkServerTrusted", X509Certificate[].class, String.class, String.class);
        } catch (ReflectiveOperationException notAndroid) {
            // Then there is none.
        }
        MAKE = make;
        CHECK = check;
    }

    private final Object extensions;

    private HostAwareCheck(Object extensions) {
        this.extensions = extensions;
    }

    /** Returns the check of this trust manager; null if it, or the platform, has none. */
    static HostAwareCheck of(X509TrustManager trustManager) {
        if (CHECK == null) {
            return null;
        }
        try {
            return new HostAwareCheck(MAKE.newInstance(trustManager));
        } catch (ReflectiveOperationException notByHost) {
            return null;
        }
    }

    /** Returns the chain that was accepted, from the server's certificate to the root. */
    List<X509Certificate> check(X509Certificate[] chain, String authType, String host) throws Throwable {
        try {
            List<X509Certificate> cleaned = new ArrayList<>();
            for (Object certificate : (List<?>) CHECK.invoke(extensions, chain, authType, host)) {
                cleaned.add((X509Certificate) certificate);
            }
            return Collections.unmodifiableList(cleaned);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause();
        }
    }
}
