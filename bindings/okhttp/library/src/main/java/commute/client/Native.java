package commute.client;

/** The native library, {@code crates/client/client-jvm}. Handles are never given twice; 0 is none. */
final class Native {
    /** What {@link #read} and {@link #write} return instead of a count. */
    static final int END_OF_STREAM = -1;

    static final int TIMED_OUT = -2;
    static final int CLOSED = -3;
    static final int REFUSED = -4;
    static final int UNAVAILABLE = -10;
    static final int NOT_SENT = -11;
    static final int CERTIFICATE = -12;
    static final int CONNECT_TIMED_OUT = -13;
    static final int BROKEN = -14;
    static final int PROTOCOL = -16;
    static final int MALFORMED_HEAD = -17;

    private Native() {}

    static native String version();

    /**
     * Starts an engine that asks {@code trust} in every handshake. Everything but {@code trust} and
     * {@code hints} may be null. It keeps no memory if another engine does in the same folder.
     */
    static native long startEngine(TrustContext trust, String[] hints, String memory, byte[] chainPem, byte[] keyPem);

    /** Ends an engine, and waits for that; with requests under way it ends when they have. */
    static native void endEngine(long engine);

    static native void setSwitches(long engine, int generation, int http3Percent, boolean explore);

    /**
     * Reports a change of the default network, by an id of 16 bytes; null if there is none. {@code kind} is the
     * ordinal of a {@link NetworkKind}.
     */
    static native void setNetwork(long engine, byte[] id, boolean metered, int kind);

    static native void workedWithout(long engine);

    /** Reports a resolver's answer for the HTTPS record of an origin; null: it was only just asked. */
    static native void httpsRecord(long engine, String host, int port, byte[] answer);

    /** Returns what the last requests took, as CSV with a header; empty if the engine has ended. */
    static native String metricsCsv(long engine, boolean ofRollout);

    /** Writes what the engine has learnt, and waits for that. */
    static native void save(long engine);

    /** Opens a socket; 0 if the engine has ended. A limit of 0 ms is none. */
    static native long open(long engine, String host, int port, int connectLimitMs);

    /**
     * Sets how the next request is sent: how long it may wait for a connection (0 ms is no limit), whether it may be
     * sent again, and the number of the pool that has the socket.
     */
    static native void setOptions(long socket, int connectLimitMs, boolean resends, int pool);

    /** Waits until the engine has a connection; 0, or why it has none. */
    static native int connect(long socket);

    static native int read(long socket, byte[] into, int offset, int length, int limitMs);

    static native int write(long socket, byte[] from, int offset, int length);

    /**
     * Closes a socket, and the engine's idle connections if no other socket of its pool is idle.
     */
    static native void close(long socket);

    /**
     * Returns how the last response came, or how far the request under way got, in the order of {@link RouteReport};
     * null if none was sent.
     */
    static native long[] facts(long socket);

    /** Returns the reason for the route: a code, a line break, and a sentence. */
    static native String why(long socket);

    static native String whyEnded(long socket);
}
