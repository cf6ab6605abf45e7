package commute.client;

import okhttp3.ConnectionPool;
import okhttp3.Request;

/** A call's route, as a tag of its requests: by the engine, or by OkHttp's own sockets for a reason. */
final class Attempt {
    /** Null if by the engine. */
    private final RouteReport plain;
    /** Whether the app allows that a request is sent again. */
    final boolean resends;
    /** A number of the client's connection pool. */
    final int pool;
    /** Whether a server has answered a request of this call. */
    private volatile boolean answered;
    /** By {@code System.nanoTime()}. */
    private volatile long begunAtNs;

    private Attempt(RouteReport plain, boolean resends, int pool) {
        this.plain = plain;
        this.resends = resends;
        this.pool = pool;
    }

    static Attempt byEngine(boolean resends, ConnectionPool pool) {
        return new Attempt(null, resends, System.identityHashCode(pool));
    }

    static Attempt plainly(PlainReason reason, String detail) {
        return new Attempt(RouteReport.plain(reason, detail), true, 0);
    }

    Request tag(Request request) {
        return request.newBuilder().tag(Attempt.class, this).build();
    }

    /** Returns the report of a call that does not go by the engine; null if it does. */
    RouteReport plain() {
        return plain;
    }

    /** Starts the clock of the call. */
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
     * Reports whether OkHttp's own sockets may make the same request after the engine did not do it, or what it was
     * redirected to. Then the request starts again, which does no harm with a safe method (RFC 9110 section 9.2.1).
     * Only such a method may follow a malformed response: the server has acted.
     */
    boolean mayBeRepeated(Request request, EngineUnavailableException unavailable) {
        boolean isSafe = request.method().equals("GET") || request.method().equals("HEAD");
        if (unavailable.reason == PlainReason.MALFORMED_HEAD && !(isSafe && resends)) {
            return false;
        }
        boolean canBeWritten =
                request.body() == null || !request.body().isOneShot() || unavailable.isBeforeBody();
        return (!answered || isSafe) && canBeWritten;
    }
}
