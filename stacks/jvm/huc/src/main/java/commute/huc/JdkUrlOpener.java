package commute.huc;

import java.io.IOException;
import java.net.Proxy;
import java.net.URL;
import javax.net.ssl.HttpsURLConnection;

/** Opens URLs with the JDK's implementation, which pools connections per socket factory. */
final class JdkUrlOpener implements UrlOpener {
    private final TappedSocketFactory socketFactory;

    JdkUrlOpener(TappedSocketFactory socketFactory) {
        this.socketFactory = socketFactory;
    }

    @Override
    public HttpsURLConnection open(URL url) throws IOException {
        HttpsURLConnection connection = (HttpsURLConnection) url.openConnection(Proxy.NO_PROXY);
        connection.setSSLSocketFactory(socketFactory);
        return connection;
    }
}
