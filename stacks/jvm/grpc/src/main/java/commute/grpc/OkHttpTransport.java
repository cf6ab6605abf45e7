package commute.grpc;

import commute.driver.Credentials;
import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Witness;
import io.grpc.ManagedChannelBuilder;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.conscrypt.Conscrypt;

/** grpc-okhttp over Conscrypt: gRPC as Android apps have it. */
final class OkHttpTransport implements Transport {
    private final Setup setup;
    private final Witness witness;
    private final Credentials credentials;
    private SSLContext tickets;

    OkHttpTransport(Setup setup, Witness witness) throws IOException, GeneralSecurityException {
        this.setup = setup;
        this.witness = witness;
        credentials = new Credentials(setup);
    }

    static Identity identity() {
        Conscrypt.Version version = Conscrypt.version();
        return Transport.identity("grpc-okhttp", "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch())
                .capabilities("mtls", "resume", "stream", "parallel", "protobuf", "cancel")
                .phase("connect", "the transport asks for TLS over its connected socket")
                .phase("tls", "HandshakeCompletedListener")
                .setting("TCP_NODELAY", "on, but only after the handshake (stock)")
                .setting("h2 receive window", "65535 bytes a stream and for the connection (stock)");
    }

    @Override
    public ManagedChannelBuilder<?> channel(Stack.Reconnect mode, Openings openings) throws GeneralSecurityException {
        if (mode == Stack.Reconnect.COLD) {
            tickets = credentials.newContext(witness);
        }
        return OkHttpChannelBuilder.forAddress(setup.host, setup.port)
                .sslSocketFactory(new Watched(tickets.getSocketFactory(), openings));
    }

    /** The transport asks for sockets over connected ones only. */
    private static final class Watched extends SSLSocketFactory {
        private final SSLSocketFactory maker;
        private final Openings openings;

        Watched(SSLSocketFactory maker, Openings openings) {
            this.maker = maker;
            this.openings = openings;
        }

        @Override
        public Socket createSocket(Socket connected, String host, int port, boolean autoClose) throws IOException {
            openings.connected();
            SSLSocket socket = (SSLSocket) maker.createSocket(connected, host, port, autoClose);
            socket.addHandshakeCompletedListener(done -> openings.secured());
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
            return maker.getDefaultCipherSuites();
        }

        @Override
        public String[] getSupportedCipherSuites() {
            return maker.getSupportedCipherSuites();
        }
    }
}
