package commute.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/** Turns an {@link EngineSocket} into one that leads to the engine. */
final class EngineSslSocketFactory extends SSLSocketFactory {
    private final Engine engine;

    EngineSslSocketFactory(Engine engine) {
        this.engine = engine;
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
        if (!(socket instanceof EngineSocket) || ((EngineSocket) socket).isPlain()) {
            // A redirect led to a proxy, which the engine does not know.
            throw new EngineUnavailableException(PlainReason.PROXY, "after a redirect to " + host);
        }
        return new EngineSslSocket((EngineSocket) socket, engine, host, port, Offered.PARAMETERS);
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return Offered.PARAMETERS.getCipherSuites();
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return Offered.PARAMETERS.getCipherSuites();
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

    /**
     * OkHttp wants sockets whose suites and versions its connection specs allow. The JDK needs tens of
     * milliseconds to list them, which plain OkHttp, too, pays with its first connection.
     */
    private static final class Offered {
        static final SSLParameters PARAMETERS = parameters();

        private static SSLParameters parameters() {
            try {
                // The default context would parse all of the platform's authorities first.
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, new TrustManager[] {EngineTrustManager.INSTANCE}, null);
                return context.getSupportedSSLParameters();
            } catch (GeneralSecurityException impossible) {
                throw new AssertionError(impossible);
            }
        }
    }
}
