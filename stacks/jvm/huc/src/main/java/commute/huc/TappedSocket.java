package commute.huc;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.Wire;
import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import javax.net.ssl.SSLSocket;

/** Stamps what the library does with a TLS socket onto the call whose thread does it. */
final class TappedSocket extends ForwardingSslSocket {
    private final Socket wire;
    private final Sockets sockets;
    private Trace opener;
    private Wire number;
    private Trace user;

    TappedSocket(SSLSocket socket, Socket wire, Sockets sockets) {
        super(socket);
        this.wire = wire;
        this.sockets = sockets;
    }

    /** The TCP connection. */
    Socket wire() {
        return wire;
    }

    @Override
    public void startHandshake() throws IOException {
        super.startHandshake();
        if (number == null) {
            opener = HucExchange.ofThread().trace();
            opener.stamp(Phase.TLS);
            number = sockets.numbered(this);
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
                Trace trace = beginsToWrite();
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
                return came(in.read());
            }

            @Override
            public int read(byte[] bytes, int from, int count) throws IOException {
                return came(in.read(bytes, from, count));
            }
        };
    }

    private Trace beginsToWrite() {
        HucExchange exchange = HucExchange.ofThread();
        Trace trace = exchange.trace();
        if (exchange.socket() != this) {
            synchronized (this) {
                user = trace;
            }
            exchange.uses(this);
            trace.carriedBy(number, trace == opener);
            trace.attempt();
        }
        return trace;
    }

    /** Checking a kept connection reads too, before the call has written to it. */
    private int came(int result) {
        HucExchange exchange = HucExchange.ofThread();
        if (result >= 0 && exchange != null && exchange.socket() == this && !exchange.trace().has(Phase.FIRST_BYTE)) {
            exchange.trace().stamp(Phase.FIRST_BYTE);
        }
        return result;
    }

    /** Its call has ended. */
    void release() {
        synchronized (this) {
            user = null;
        }
        if (sockets.isRetired()) {
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
            // It is thrown away either way.
        }
    }

    @Override
    public void close() throws IOException {
        sockets.closed(this);
        super.close();
    }
}
