package commute.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/**
 * A socket whose other end is the engine. Its handshake waits until the engine has a connection, whose
 * certificates {@link TrustContext} has checked.
 */
final class EngineSslSocket extends ClientSslSocket {
    private final EngineSocket below;
    private final Engine engine;
    private final String host;
    private final int port;
    private volatile long handle;
    private volatile boolean closed;
    private volatile int readLimitMs;
    /** What the report was when the socket was closed. */
    private volatile RouteReport atClose;

    EngineSslSocket(EngineSocket below, Engine engine, String host, int port, SSLParameters parameters)
            throws SocketException {
        super(parameters);
        this.below = below;
        this.engine = engine;
        this.host = host;
        this.port = port;
        below.carries(this);
    }

    Engine engine() {
        return engine;
    }

    String host() {
        return host;
    }

    /** Has the next request sent as its call wants. A connect limit of 0 ms is none. */
    void setOptions(int connectLimitMs, Attempt attempt) {
        boolean resends = attempt == null || attempt.resends;
        Native.setOptions(handle, connectLimitMs, resends, attempt == null ? 0 : attempt.pool);
    }

    /** Returns how the last response came, or how far the request under way got; null if none was sent. */
    RouteReport report() {
        long[] facts = Native.facts(handle);
        return facts == null ? atClose : RouteReport.byEngine(facts, Native.why(handle));
    }

    @Override
    public void startHandshake() throws IOException {
        long opened = engine.open(host, port, below.connectLimitMs());
        if (opened == 0) {
            throw new EngineUnavailableException(PlainReason.ENGINE, "the engine has ended");
        }
        handle = opened;
        if (closed) {
            Native.close(opened);
            throw new SocketException("Socket closed");
        }
        int failed = Native.connect(opened);
        if (failed != 0) {
            throw failure(failed);
        }
    }

    @Override
    public SSLSession getSession() {
        return new EngineSession(host, port, engine.trust.knownChain(host));
    }

    @Override
    public InputStream getInputStream() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                byte[] one = new byte[1];
                return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                if (length == 0) {
                    return 0;
                }
                WatchdogTimeout.use();
                int count = Native.read(handle, into, offset, length, readLimitMs);
                if (count == Native.END_OF_STREAM) {
                    throw new ProtocolException("unexpected end of stream: " + Native.whyEnded(handle));
                }
                if (count < 0) {
                    throw failure(count);
                }
                return count;
            }
        };
    }

    @Override
    public OutputStream getOutputStream() {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] from, int offset, int length) throws IOException {
                WatchdogTimeout.use();
                int failed = Native.write(handle, from, offset, length);
                if (failed != 0) {
                    throw failure(failed);
                }
            }
        };
    }

    private IOException failure(int code) {
        switch (code) {
            case Native.TIMED_OUT:
                return new SocketTimeoutException("Read timed out");
            case Native.UNAVAILABLE:
                return new EngineUnavailableException(PlainReason.ENGINE, Native.whyEnded(handle));
            case Native.NOT_SENT:
                return new EngineUnavailableException(PlainReason.NOT_SENT, Native.whyEnded(handle));
            case Native.MALFORMED_HEAD:
                String origin = LenientOrigins.name(host, port);
                return new EngineUnavailableException(PlainReason.MALFORMED_HEAD, Native.whyEnded(handle), origin)
                        .asProtocolException();
            case Native.REFUSED:
                return new SocketException("the server does not take the rest of the request's body");
            case Native.CERTIFICATE:
                return engine.trust.refusal(host);
            case Native.CONNECT_TIMED_OUT:
                return new SocketTimeoutException("Connect timed out");
            case Native.PROTOCOL:
                return new ProtocolException(Native.whyEnded(handle));
            case Native.BROKEN:
            case Native.END_OF_STREAM:
                return new SocketException(Native.whyEnded(handle));
            default:
                return new SocketException("Socket closed");
        }
    }

    @Override
    public void close() throws IOException {
        below.close();
    }

    /** Wakes threads that read or write, and cancels the request. */
    void closeHandle() {
        closed = true;
        atClose = report();
        Native.close(handle);
    }

    @Override
    public void setSoTimeout(int limitMs) {
        readLimitMs = limitMs;
    }

    @Override
    public int getSoTimeout() {
        return readLimitMs;
    }

    @Override
    public void setTcpNoDelay(boolean on) {}

    @Override
    public boolean isConnected() {
        return below.isConnected();
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public boolean isInputShutdown() {
        return closed;
    }

    @Override
    public boolean isOutputShutdown() {
        return closed;
    }

    @Override
    public InetAddress getInetAddress() {
        return below.getInetAddress();
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return below.getRemoteSocketAddress();
    }

    @Override
    public int getPort() {
        return below.getPort();
    }

    @Override
    public String toString() {
        return "EngineSslSocket[" + host + ":" + port + "]";
    }
}
