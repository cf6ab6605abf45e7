package commute.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.tls.HandshakeCertificates;

/** The sockets of a server that knows only what OkHttp still allows and rustls does not. */
final class OldSuites extends SSLSocketFactory {
    private static final String[] SUITES = {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"};

    private final SSLSocketFactory sockets;

    private OldSuites(SSLSocketFactory sockets) {
        this.sockets = sockets;
    }

    /** Starts a server that plain OkHttp can use, and the engine cannot. */
    static MockWebServer server() throws IOException {
        MockWebServer server = new MockWebServer();
        HandshakeCertificates identity =
                new HandshakeCertificates.Builder().heldCertificate(Certificates.RSA).build();
        server.useHttps(new OldSuites(identity.sslSocketFactory()), false);
        server.start(InetAddress.getByName("localhost"), 0);
        return server;
    }

    @Override
    public Socket createSocket(Socket socket, String host, int port, boolean autoClose) throws IOException {
        SSLSocket tls = (SSLSocket) sockets.createSocket(socket, host, port, autoClose);
        tls.setEnabledProtocols(new String[] {"TLSv1.2"});
        tls.setEnabledCipherSuites(SUITES);
        return tls;
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return SUITES;
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return SUITES;
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
}
