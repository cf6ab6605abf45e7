package commute.client;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Asks the app's resolver for the HTTPS records of the origins that an engine connects to. */
final class RecordQueries {
    /** A resolver keeps answers for itself; its cache is asked no more often than this. Assumed. */
    private static final long PAUSE_NS = TimeUnit.MINUTES.toNanos(1);

    private static final int MAX_ORIGINS = 64;
    /** Is malformed, so that it offers nothing and ends the wait for an answer. */
    private static final byte[] NO_ANSWER = {};

    private final HttpsRecords resolver;
    private final Reporter reporter;
    private final Map<String, Long> askedAtNs = new LinkedHashMap<String, Long>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Long> eldest) {
            return size() > MAX_ORIGINS;
        }
    };

    /** Takes an answer; null: there will be one. */
    interface Reporter {
        void report(String host, int port, byte[] answer);
    }

    RecordQueries(HttpsRecords resolver, Reporter reporter) {
        this.resolver = resolver;
        this.reporter = reporter;
    }

    /** Asks for the record of an origin, unless that was done within the last minute, or its host is an address. */
    void ask(String host, int port, long nowNs) {
        if (EngineSession.isAddress(host)) {
            return;
        }
        String name = port == 443 ? host : "_" + port + "._https." + host;
        synchronized (askedAtNs) {
            Long last = askedAtNs.get(name);
            if (last != null && nowNs - last < PAUSE_NS) {
                return;
            }
            askedAtNs.put(name, nowNs);
        }
        reporter.report(host, port, null);
        try {
            resolver.ask(name, answer -> reporter.report(host, port, answer == null ? NO_ANSWER : answer));
        } catch (RuntimeException failed) {
            // Otherwise connections would wait for an answer that does not come.
            reporter.report(host, port, NO_ANSWER);
        }
    }
}
