package commute.client;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/**
 * The socket that an {@link javax.net.ssl.X509ExtendedTrustManager} is given, as JSSE would: it names the server whose
 * certificates are checked. It carries no bytes, and the engine does not report the port.
 */
final class HandshakeSocket extends ClientSslSocket {
    private final String host;
    private final EngineSession session;

    HandshakeSocket(String host, EngineSession session, SSLParameters parameters) {
        super(parameters);
        this.host = host;
        this.session = session;
    }

    @Override
    public SSLSession getHandshakeSession() {
        return session;
    }

    @Override
    public SSLSession getSession() {
        return session;
    }

    @Override
    public void startHandshake() {}

    /** Returns null: the protocol is not known yet. Without {@code Override}, since Java 8 may have no such method. */
    @SuppressWarnings("unused")
    public String getApplicationProtocol() {
        return null;
    }

    /** Returns null, as {@link #getApplicationProtocol}. */
    @SuppressWarnings("unused")
    public String getHandshakeApplicationProtocol() {
        return null;
    }

    @Override
    public boolean isConnected() {
        return true;
    }

    /** Resolves the name, which need not give the address that the engine uses; null if it cannot. */
    @Override
    public InetAddress getInetAddress() {
        try {
            return InetAddress.getByName(host);
        } catch (UnknownHostException unknown) {
            return null;
        }
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return InetSocketAddress.createUnresolved(host, 0);
    }

    @Override
    public String toString() {
        return "HandshakeSocket[" + host + "]";
    }
}
