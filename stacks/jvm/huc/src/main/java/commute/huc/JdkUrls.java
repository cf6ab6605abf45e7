package commute.huc;

import java.io.IOException;
import java.net.Proxy;
import java.net.URL;
import javax.net.ssl.HttpsURLConnection;

/** The JDK's. It keeps connections apart by the socket factory they came from. */
final class JdkUrls implements Urls {
    private final Sockets sockets;

    JdkUrls(Sockets sockets) {
        this.sockets = sockets;
    }

    @Override
    public HttpsURLConnection open(URL url) throws IOException {
        HttpsURLConnection connection = (HttpsURLConnection) url.openConnection(Proxy.NO_PROXY);
        connection.setSSLSocketFactory(sockets);
        return connection;
    }
}
