package commute.huc;

import commute.driver.Trace.Phase;
import commute.driver.Wire;
import commute.driver.Witness;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * The TLS sockets between two reconnects. It offers sockets over connected ones only, so that
 * the library connects by itself and asking for TLS tells that TCP has connected.
 */
final class Sockets extends SSLSocketFactory {
    private final SSLSocketFactory maker;
    private final Witness witness;
    private final AtomicInteger opened;
    private final Set<TappedSocket> open = ConcurrentHashMap.newKeySet();
    private volatile boolean retired;

    Sockets(SSLSocketFactory maker, Witness witness, AtomicInteger opened) {
        this.maker = maker;
        this.witness = witness;
        this.opened = opened;
    }

    /** Idle ones close now, busy ones after their call. */
    void retire() {
        retired = true;
        open.forEach(TappedSocket::closeIfIdle);
    }

    boolean isRetired() {
        return retired;
    }

    void closed(TappedSocket socket) {
        open.remove(socket);
    }

    /** The handshake is done: it has a number now. */
    Wire numbered(TappedSocket socket) {
        Wire wire = new Wire(opened.incrementAndGet());
        wire.protocol = "h1";
        wire.localPort = socket.getLocalPort();
        wire.resumed = witness.resumed();
        open.add(socket);
        return wire;
    }

    @Override
    public Socket createSocket(Socket connected, String host, int port, boolean autoClose) throws IOException {
        HucExchange exchange = HucExchange.ofThread();
        exchange.trace().stamp(Phase.CONNECT);
        exchange.opens(connected);
        witness.handshakeBegins();
        return new TappedSocket((SSLSocket) maker.createSocket(connected, host, port, autoClose), connected, this);
    }

    @Override
    public Socket createSocket(String host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress local, int localPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return maker.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return maker.getSupportedCipherSuites();
    }
}
