package commute.huc;

import commute.driver.Trace.Phase;
import commute.driver.ConnectionInfo;
import commute.driver.RecordingTrustManager;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Makes the TLS sockets between two reconnects, only over connected sockets. So the library
 * connects by itself, and its request for TLS shows that TCP has connected.
 */
final class TappedSocketFactory extends SSLSocketFactory {
    private final SSLSocketFactory delegate;
    private final RecordingTrustManager trustManager;
    private final AtomicInteger opened;
    private final Set<TappedSocket> open = ConcurrentHashMap.newKeySet();
    private volatile boolean retired;

    TappedSocketFactory(SSLSocketFactory delegate, RecordingTrustManager trustManager, AtomicInteger opened) {
        this.delegate = delegate;
        this.trustManager = trustManager;
        this.opened = opened;
    }

    /** Closes idle sockets now and busy ones after their call. */
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

    /** Records that a socket's handshake is done, and numbers its connection. */
    ConnectionInfo handshakeDone(TappedSocket socket) {
        ConnectionInfo connection = new ConnectionInfo(opened.incrementAndGet());
        connection.protocol = "h1";
        connection.localPort = socket.getLocalPort();
        connection.resumed = trustManager.resumed();
        open.add(socket);
        return connection;
    }

    @Override
    public Socket createSocket(Socket connected, String host, int port, boolean autoClose) throws IOException {
        HucCall call = HucCall.current();
        call.trace().stamp(Phase.CONNECT);
        call.opens(connected);
        trustManager.handshakeStarted();
        return new TappedSocket((SSLSocket) delegate.createSocket(connected, host, port, autoClose), connected, this);
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
        return delegate.getDefaultCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return delegate.getSupportedCipherSuites();
    }
}
