package commute.client;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import okhttp3.HttpUrl;

/**
 * Servers whose heads over HTTP/1.1 the engine cannot read. Requests to them go by OkHttp's own sockets for a while.
 */
final class LenientOrigins {
    /** A server that is put right, or whose one bad response was an accident, is tried again. */
    private static final long TIME_NS = TimeUnit.MINUTES.toNanos(10);

    private static final int MAX = 256;

    /** By {@code host:port}, until when, by {@code System.nanoTime()}. */
    private static final Map<String, Long> UNTIL = Collections.synchronizedMap(new LinkedHashMap<String, Long>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > MAX;
        }
    });

    private LenientOrigins() {}

    static void learn(EngineUnavailableException failure) {
        if (failure.origin != null) {
            UNTIL.put(failure.origin, System.nanoTime() + TIME_NS);
        }
    }

    static boolean contains(HttpUrl url) {
        if (UNTIL.isEmpty()) {
            return false;
        }
        String origin = name(url.host(), url.port());
        Long until = UNTIL.get(origin);
        if (until != null && until - System.nanoTime() < 0) {
            UNTIL.remove(origin);
            return false;
        }
        return until != null;
    }

    static void clear() {
        UNTIL.clear();
    }

    static String name(String host, int port) {
        return host + ":" + port;
    }
}
