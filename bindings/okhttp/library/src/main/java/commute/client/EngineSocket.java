package commute.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;

/**
 * The socket under an {@link EngineSslSocket}. It connects to nothing, unless it is read from or
 * written to without TLS, because the server redirected to a URL without: then it becomes a real one.
 */
final class EngineSocket extends Socket {
    private InetSocketAddress address;
    private int connectLimitMs;
    private int readLimitMs;
    private Socket plain;
    private EngineSslSocket tls;
    private volatile boolean closed;

    @Override
    public void connect(SocketAddress address) throws IOException {
        connect(address, 0);
    }

    @Override
    public void connect(SocketAddress address, int limitMs) throws IOException {
        requireOpen();
        this.address = (InetSocketAddress) address;
        connectLimitMs = limitMs;
    }

    /** Returns the milliseconds within which a connection must be there; 0 is no limit. */
    int connectLimitMs() {
        return connectLimitMs;
    }

    /** Sets the TLS socket that is closed with this socket. */
    synchronized void carries(EngineSslSocket tls) throws SocketException {
        requireOpen();
        this.tls = tls;
    }

    synchronized boolean isPlain() {
        return plain != null;
    }

    private Socket plain() throws IOException {
        Socket socket;
        synchronized (this) {
            requireOpen();
            if (plain != null) {
                return plain;
            }
            socket = new Socket();
            socket.setSoTimeout(readLimitMs);
            plain = socket;
        }
        socket.connect(address, connectLimitMs);
        return socket;
    }

    @Override
    public InputStream getInputStream() {
        return new InputStream() {
            @Override
            public int read() throws IOException {
                return plain().getInputStream().read();
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                return plain().getInputStream().read(into, offset, length);
            }
        };
    }

    @Override
    public OutputStream getOutputStream() {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                plain().getOutputStream().write(b);
            }

            @Override
            public void write(byte[] from, int offset, int length) throws IOException {
                plain().getOutputStream().write(from, offset, length);
            }
        };
    }

    @Override
    public void close() throws IOException {
        Socket closing;
        EngineSslSocket ending;
        synchronized (this) {
            closed = true;
            closing = plain;
            ending = tls;
        }
        if (closing != null) {
            closing.close();
        }
        if (ending != null) {
            ending.closeHandle();
        }
    }

    @Override
    public synchronized void setSoTimeout(int limitMs) throws SocketException {
        readLimitMs = limitMs;
        if (plain != null) {
            plain.setSoTimeout(limitMs);
        }
    }

    @Override
    public synchronized int getSoTimeout() {
        return readLimitMs;
    }

    @Override
    public void setTcpNoDelay(boolean on) {}

    @Override
    public boolean isConnected() {
        return address != null;
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
        return address == null ? null : address.getAddress();
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return address;
    }

    @Override
    public int getPort() {
        return address == null ? 0 : address.getPort();
    }

    @Override
    public String toString() {
        return "EngineSocket[" + address + "]";
    }

    private void requireOpen() throws SocketException {
        if (closed) {
            throw new SocketException("Socket closed");
        }
    }
}
