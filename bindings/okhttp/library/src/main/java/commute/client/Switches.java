package commute.client;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import okhttp3.HttpUrl;

/** What the app allows. */
final class Switches {
    static volatile boolean enabled = true;

    private static final Set<String> OFF = ConcurrentHashMap.newKeySet();

    private Switches() {}

    static void setEnabled(HttpUrl origin, boolean enabled) {
        if (enabled) {
            OFF.remove(key(origin));
        } else {
            OFF.add(key(origin));
        }
    }

    /** Returns why a request to this URL must fall back, or null. */
    static PlainReason off(HttpUrl url) {
        if (!enabled) {
            return PlainReason.SWITCHED_OFF;
        }
        return !OFF.isEmpty() && OFF.contains(key(url)) ? PlainReason.ORIGIN_SWITCHED_OFF : null;
    }

    private static String key(HttpUrl url) {
        return url.scheme() + "://" + url.host() + ":" + url.port();
    }
}
