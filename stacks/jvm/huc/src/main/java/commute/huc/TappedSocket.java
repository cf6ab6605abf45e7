package commute.huc;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.ConnectionInfo;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import javax.net.ssl.SSLSocket;

/** Stamps what the library does with a TLS socket on the call of the current thread. */
final class TappedSocket extends ForwardingSslSocket {
    private final Socket tcpSocket;
    private final TappedSocketFactory factory;
    private Trace opener;
    /** Null until the handshake is done. */
    private ConnectionInfo connection;
    private Trace user;

    TappedSocket(SSLSocket socket, Socket tcpSocket, TappedSocketFactory factory) {
        super(socket);
        this.tcpSocket = tcpSocket;
        this.factory = factory;
    }

    /** Returns the TCP socket under the TLS socket. */
    Socket tcpSocket() {
        return tcpSocket;
    }

    @Override
    public void startHandshake() throws IOException {
        super.startHandshake();
        if (connection == null) {
            opener = HucCall.current().trace();
            opener.stamp(Phase.TLS);
            connection = factory.handshakeDone(this);
        }
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return new FilterOutputStream(super.getOutputStream()) {
            @Override
            public void write(int octet) throws IOException {
                write(new byte[] {(byte) octet}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int from, int count) throws IOException {
                Trace trace = startWrite();
                out.write(bytes, from, count);
                trace.stamp(Phase.REQUEST_SENT);
            }
        };
    }

    @Override
    public InputStream getInputStream() throws IOException {
        return new FilterInputStream(super.getInputStream()) {
            @Override
            public int read() throws IOException {
                return stampRead(in.read());
            }

            @Override
            public int read(byte[] bytes, int from, int count) throws IOException {
                return stampRead(in.read(bytes, from, count));
            }
        };
    }

    private Trace startWrite() {
        HucCall call = HucCall.current();
        Trace trace = call.trace();
        if (call.socket() != this) {
            synchronized (this) {
                user = trace;
            }
            call.uses(this);
            trace.useConnection(connection, trace == opener);
            trace.countAttempt();
        }
        return trace;
    }

    /**
     * Stamps the first byte. Ignores the reads that check a reused connection before the call
     * writes to it.
     */
    private int stampRead(int result) {
        HucCall call = HucCall.current();
        if (result >= 0 && call != null && call.socket() == this && !call.trace().isStamped(Phase.FIRST_BYTE)) {
            call.trace().stamp(Phase.FIRST_BYTE);
        }
        return result;
    }

    /** Records that the socket's call has ended. */
    void release() {
        synchronized (this) {
            user = null;
        }
        if (factory.isRetired()) {
            closeIfIdle();
        }
    }

    void closeIfIdle() {
        synchronized (this) {
            if (user != null) {
                return;
            }
        }
        try {
            close();
        } catch (IOException ignored) {
            // The socket is discarded either way.
        }
    }

    @Override
    public void close() throws IOException {
        factory.closed(this);
        super.close();
    }
}
