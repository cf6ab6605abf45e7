package commute.client;

import java.util.Locale;

/**
 * How a response came: by the engine or plainly, and why. Times are in ns after the engine was asked for
 * it.
 */
public final class RouteReport {
    private final long[] facts;
    private final String code;
    private final String why;
    private final long askedAtNs;

    private RouteReport(long[] facts, String code, String why) {
        this.facts = facts;
        this.code = code;
        this.why = why;
        // The last fact is how long ago the engine was asked.
        askedAtNs = facts == null ? 0 : System.nanoTime() - facts[12];
    }

    static RouteReport byEngine(long[] facts, String codeAndWhy) {
        int end = codeAndWhy.indexOf('\n');
        return new RouteReport(facts, codeAndWhy.substring(0, Math.max(end, 0)), codeAndWhy.substring(end + 1));
    }

    static RouteReport plain(PlainReason reason, String detail) {
        return new RouteReport(null, reason.code(), detail == null ? reason.sentence() : reason.sentence() + ": " + detail);
    }

    /** Whether the engine carried the request; if not, OkHttp's own sockets did. */
    public boolean byEngine() {
        return facts != null;
    }

    /** The version of HTTP that the server was spoken to with: 1, 2 or 3; 0 if not by the engine. */
    public int httpVersion() {
        return (int) fact(0, 0);
    }

    /** A code that stays the same across versions, e.g. {@code only_open} or {@code plain.switched_off}. */
    public String code() {
        return code;
    }

    /** Why the request went this way, in words. */
    public String why() {
        return why;
    }

    /** Whether the connection was open before the request was asked for. */
    public boolean reused() {
        return fact(2, 0) != 0;
    }

    /** Whether the connection's handshake resumed a TLS session. */
    public boolean resumed() {
        return fact(3, 0) != 0;
    }

    /** How often the engine sent the request. */
    public int attempts() {
        return (int) fact(4, 0);
    }

    /** The connection's number in its engine. */
    public long connection() {
        return fact(5, 0);
    }

    /** The connection's local port. */
    public int localPort() {
        return (int) fact(6, 0);
    }

    /** When the engine was asked, in ns of {@code System.nanoTime()}; 0 if it was not. */
    public long askedAtNs() {
        return askedAtNs;
    }

    /** The name was resolved; -1 if that was before the request. */
    public long dnsNs() {
        return fact(7, -1);
    }

    /** TCP was connected; -1 if that was before the request, or never. */
    public long connectNs() {
        return fact(8, -1);
    }

    /** The handshake was done; -1 if that was before the request. */
    public long tlsNs() {
        return fact(9, -1);
    }

    /** The request was handed to the transport. */
    public long requestSentNs() {
        return fact(10, -1);
    }

    /** The head of the response came. */
    public long firstByteNs() {
        return fact(11, -1);
    }

    @Override
    public String toString() {
        return byEngine() ? String.format(Locale.ROOT, "HTTP/%d: %s", httpVersion(), why) : why;
    }

    /** Whether the body was chunked on the way from the engine to OkHttp only. */
    boolean chunkedHere() {
        return fact(1, 0) != 0;
    }

    private long fact(int index, long otherwise) {
        return facts == null ? otherwise : facts[index];
    }
}
