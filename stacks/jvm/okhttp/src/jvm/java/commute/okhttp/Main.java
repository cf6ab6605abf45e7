package commute.okhttp;

import commute.driver.CodecClassLoader;
import commute.driver.Driver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.Provider;
import java.security.Security;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import org.conscrypt.Conscrypt;

/**
 * Drives OkHttp. The argument, {@code conscrypt}, {@code nodelay} or {@code jdk}, selects TLS and
 * sockets.
 */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.useTmpdir();
        String variant = arguments.length == 1 ? arguments[0] : "";
        String tls;
        switch (variant) {
            case "conscrypt":
            case "nodelay":
                // First, as on Android: OkHttp recognises Conscrypt by its position.
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Conscrypt.Version version = Conscrypt.version();
                tls = "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch();
                break;
            case "jdk":
                Provider provider = SSLContext.getDefault().getProvider();
                tls = provider.getName() + " of Java " + System.getProperty("java.runtime.version");
                break;
            default:
                throw new IllegalArgumentException("expected one argument: conscrypt, nodelay or jdk");
        }
        SocketFactory sockets = variant.equals("nodelay") ? new NoDelaySocketFactory() : SocketFactory.getDefault();
        Driver.run(new OkHttpStack(OkHttpVersion.loaded(), tls, sockets), CodecClassLoader.loadMessages());
    }

    /** Makes TCP sockets with Nagle's algorithm off. OkHttp requests only unconnected ones. */
    private static final class NoDelaySocketFactory extends SocketFactory {
        @Override
        public Socket createSocket() throws IOException {
            Socket socket = new Socket();
            socket.setTcpNoDelay(true);
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
    }
}
