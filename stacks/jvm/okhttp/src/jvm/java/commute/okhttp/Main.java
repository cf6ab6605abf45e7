package commute.okhttp;

import commute.driver.CodecFolder;
import commute.driver.Driver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.Provider;
import java.security.Security;
import javax.net.SocketFactory;
import javax.net.ssl.SSLContext;
import org.conscrypt.Conscrypt;

/** {@code conscrypt}, {@code nodelay} or {@code jdk}: what OkHttp runs on. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.keepToTemporaryFolder();
        String variant = arguments.length == 1 ? arguments[0] : "";
        String tls;
        switch (variant) {
            case "conscrypt":
            case "nodelay":
                // First, as on Android; OkHttp recognises Conscrypt by that.
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Conscrypt.Version version = Conscrypt.version();
                tls = "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch();
                break;
            case "jdk":
                Provider provider = SSLContext.getDefault().getProvider();
                tls = provider.getName() + " of Java " + System.getProperty("java.runtime.version");
                break;
            default:
                throw new IllegalArgumentException("one argument: conscrypt, nodelay or jdk");
        }
        SocketFactory sockets = variant.equals("nodelay") ? new NoDelay() : SocketFactory.getDefault();
        Driver.main(new OkHttpStack(Loaded.version(), tls, sockets), CodecFolder.messages());
    }

    /** Plain sockets with Nagle's algorithm off. OkHttp asks for unconnected ones only. */
    private static final class NoDelay extends SocketFactory {
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
