package commute.driver;

/** A connection of the library's, as rows tell of it. */
public final class Wire {
    public final int number;
    /** Whether its handshake resumed a session. */
    public volatile boolean resumed;
    /** 0 until known. */
    public volatile int localPort;
    /** {@code h1} and so on, as negotiated; null until known. */
    public volatile String protocol;

    public Wire(int number) {
        this.number = number;
    }
}
