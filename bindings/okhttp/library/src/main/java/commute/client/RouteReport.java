package commute.client;

import java.util.Locale;

/**
 * How a response came: by the engine or by OkHttp's own sockets, and why. Times are in ns after the engine was asked
 * for it.
 */
public final class RouteReport {
    /** What {@link Native#facts} returns, in its order. */
    private enum Fact {
        HTTP_VERSION,
        CHUNKED_HERE,
        REUSED,
        RESUMED,
        ATTEMPTS,
        CONNECTION,
        LOCAL_PORT,
        DNS_NS,
        CONNECT_NS,
        TLS_NS,
        REQUEST_SENT_NS,
        FIRST_BYTE_NS,
        ASKED_NS_AGO;

        private static final int COUNT = values().length;
    }

    private final long[] facts;
    private final String code;
    private final String why;
    private final long askedAtNs;

    private RouteReport(long[] facts, String code, String why) {
        this.facts = facts;
        this.code = code;
        this.why = why;
        askedAtNs = facts == null ? 0 : System.nanoTime() - fact(Fact.ASKED_NS_AGO, 0);
    }

    static RouteReport byEngine(long[] facts, String codeAndWhy) {
        if (facts.length != Fact.COUNT) {
            throw new IllegalStateException("the native library reports " + facts.length + " facts of a request, not "
                    + Fact.COUNT + ": it is of another version");
        }
        int end = codeAndWhy.indexOf('\n');
        return new RouteReport(facts, codeAndWhy.substring(0, Math.max(end, 0)), codeAndWhy.substring(end + 1));
    }

    static RouteReport plain(PlainReason reason, String detail) {
        return new RouteReport(null, reason.code(), detail == null ? reason.sentence() : reason.sentence() + ": " + detail);
    }

    /** Reports whether the engine carried the request; if not, OkHttp's own sockets did. */
    public boolean byEngine() {
        return facts != null;
    }

    /** Returns the version of HTTP that the server was asked in: 1, 2 or 3; 0 if not by the engine. */
    public int httpVersion() {
        return (int) fact(Fact.HTTP_VERSION, 0);
    }

    /** Returns a code that stays the same across versions, e.g. {@code only_open} or {@code plain.switched_off}. */
    public String code() {
        return code;
    }

    /** Returns why the request took this route, in words. */
    public String why() {
        return why;
    }

    /** Reports whether the connection was open before the request was asked for. */
    public boolean reused() {
        return fact(Fact.REUSED, 0) != 0;
    }

    /** Reports whether the connection's handshake resumed a TLS session. */
    public boolean resumed() {
        return fact(Fact.RESUMED, 0) != 0;
    }

    /** Returns how often the engine sent the request. */
    public int attempts() {
        return (int) fact(Fact.ATTEMPTS, 0);
    }

    /** Returns the connection's number in its engine. */
    public long connection() {
        return fact(Fact.CONNECTION, 0);
    }

    /** Returns the connection's local port. */
    public int localPort() {
        return (int) fact(Fact.LOCAL_PORT, 0);
    }

    /** Returns when the engine was asked, in ns of {@code System.nanoTime()}; 0 if it was not. */
    public long askedAtNs() {
        return askedAtNs;
    }

    /** Returns when the name was resolved; -1 if that was before the request. */
    public long dnsNs() {
        return fact(Fact.DNS_NS, -1);
    }

    /** Returns when TCP was connected; -1 if that was before the request, or never. */
    public long connectNs() {
        return fact(Fact.CONNECT_NS, -1);
    }

    /** Returns when the handshake was done; -1 if that was before the request. */
    public long tlsNs() {
        return fact(Fact.TLS_NS, -1);
    }

    /** Returns when the request was handed to the transport. */
    public long requestSentNs() {
        return fact(Fact.REQUEST_SENT_NS, -1);
    }

    /** Returns when the head of the response came. */
    public long firstByteNs() {
        return fact(Fact.FIRST_BYTE_NS, -1);
    }

    @Override
    public String toString() {
        return byEngine() ? String.format(Locale.ROOT, "HTTP/%d: %s", httpVersion(), why) : why;
    }

    /** Reports whether the body was chunked on the way from the engine to OkHttp only. */
    boolean chunkedHere() {
        return fact(Fact.CHUNKED_HERE, 0) != 0;
    }

    private long fact(Fact fact, long otherwise) {
        return facts == null ? otherwise : facts[fact.ordinal()];
    }
}
