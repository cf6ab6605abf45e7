package commute.client;

import java.net.InetAddress;
import java.net.Socket;
import javax.net.SocketFactory;

/** Makes {@link EngineSocket}s. OkHttp requests only unconnected ones. */
final class EngineSocketFactory extends SocketFactory {
    @Override
    public Socket createSocket() {
        return new EngineSocket();
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
