package commute.driver;

/** What rows report about a connection. */
public final class ConnectionInfo {
    /** Counts from 1 within a session. */
    public final int number;
    /** Whether the handshake resumed a session. */
    public volatile boolean resumed;
    /** The client's port; 0 until known. */
    public volatile int localPort;
    /** The negotiated protocol, e.g. {@code h1}; null until known. */
    public volatile String protocol;

    public ConnectionInfo(int number) {
        this.number = number;
    }
}
