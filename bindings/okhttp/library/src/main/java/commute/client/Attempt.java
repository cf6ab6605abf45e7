package commute.client;

import okhttp3.Request;

/** A call's way, as a tag of its requests: by the engine, or plainly for a reason. */
final class Attempt {
    /** Null if by the engine. */
    private final RouteReport plain;
    /** Whether a server has answered a request of this call. */
    private volatile boolean answered;
    /** By {@code System.nanoTime()}. */
    private volatile long begunAtNs;

    private Attempt(RouteReport plain) {
        this.plain = plain;
    }

    static Attempt byEngine() {
        return new Attempt(null);
    }

    static Attempt plainly(PlainReason reason, String detail) {
        return new Attempt(RouteReport.plain(reason, detail));
    }

    Request tag(Request request) {
        return request.newBuilder().tag(Attempt.class, this).build();
    }

    /** Null if by the engine. */
    RouteReport plain() {
        return plain;
    }

    /** The time of the call begins to count. */
    void begin() {
        begunAtNs = System.nanoTime();
    }

    long sinceBeginNs() {
        return System.nanoTime() - begunAtNs;
    }

    void answered() {
        answered = true;
    }

    /**
     * Whether the same request may be made plainly after the engine did not do it, or what it was
     * redirected to. Then it begins again, which does no harm with a safe method (RFC 9110 section 9.2.1).
     */
    boolean mayBeRepeated(Request request) {
        boolean isSafe = request.method().equals("GET") || request.method().equals("HEAD");
        return (!answered || isSafe) && (request.body() == null || !request.body().isOneShot());
    }
}
