package commute.grpc;

import commute.driver.Credentials;
import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.RecordingTrustManager;
import io.grpc.ManagedChannelBuilder;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.conscrypt.Conscrypt;

/** grpc-okhttp over Conscrypt, the usual gRPC of Android apps. */
final class OkHttpTransport implements Transport {
    private final Setup setup;
    private final RecordingTrustManager trustManager;
    private final Credentials credentials;
    /** Owns the tickets. */
    private SSLContext sslContext;

    OkHttpTransport(Setup setup, RecordingTrustManager trustManager) throws IOException, GeneralSecurityException {
        this.setup = setup;
        this.trustManager = trustManager;
        credentials = new Credentials(setup);
    }

    static StackInfo info() {
        Conscrypt.Version version = Conscrypt.version();
        return Transport.stackInfo("grpc-okhttp", "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch())
                .capabilities("mtls", "resume", "stream", "parallel", "protobuf", "cancel", "plaintext", "jwt", "hmac", "submit", "origins", "fetch")
                .phase("connect", "the transport requests TLS over its connected socket")
                .phase("tls", "HandshakeCompletedListener")
                .setting("TCP_NODELAY", "on, but only after the handshake (default)")
                .setting("h2 receive window", "65535 bytes per stream and per connection (default)");
    }

    @Override
    public ManagedChannelBuilder<?> channel(Stack.Reconnect mode, ConnectionTracker tracker) throws GeneralSecurityException {
        if (mode == Stack.Reconnect.COLD) {
            sslContext = credentials.newContext(trustManager);
        }
        if (setup.isPlaintext()) {
            return OkHttpChannelBuilder.forAddress(setup.host, setup.port).socketFactory(new PlainSocketFactory(tracker));
        }
        return OkHttpChannelBuilder.forAddress(setup.host, setup.port)
                .sslSocketFactory(new TrackedSocketFactory(sslContext.getSocketFactory(), tracker));
    }

    /** Makes TCP sockets that report to the tracker. The transport names the server by its address. */
    private static final class PlainSocketFactory extends SocketFactory {
        private final ConnectionTracker tracker;

        PlainSocketFactory(ConnectionTracker tracker) {
            this.tracker = tracker;
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            Socket socket = new Socket(host, port);
            tracker.connected();
            return socket;
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
        public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort) {
            throw new UnsupportedOperationException();
        }
    }

    /**
     * Makes TLS sockets that report to the tracker. The transport requests them only over connected
     * sockets.
     */
    private static final class TrackedSocketFactory extends SSLSocketFactory {
        private final SSLSocketFactory delegate;
        private final ConnectionTracker tracker;

        TrackedSocketFactory(SSLSocketFactory delegate, ConnectionTracker tracker) {
            this.delegate = delegate;
            this.tracker = tracker;
        }

        @Override
        public Socket createSocket(Socket connected, String host, int port, boolean autoClose) throws IOException {
            tracker.connected();
            SSLSocket socket = (SSLSocket) delegate.createSocket(connected, host, port, autoClose);
            socket.addHandshakeCompletedListener(done -> tracker.handshakeDone());
            return socket;
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
}
