package commute.huc;

import com.squareup.okhttp.ConnectionPool;
import com.squareup.okhttp.ConnectionSpec;
import com.squareup.okhttp.Dns;
import com.squareup.okhttp.OkHttpClient;
import com.squareup.okhttp.OkUrlFactory;
import com.squareup.okhttp.Protocol;
import commute.driver.Trace.Phase;
import java.net.InetAddress;
import java.net.Proxy;
import java.net.URL;
import java.net.UnknownHostException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.HttpsURLConnection;

/**
 * Opens URLs with OkHttp 2, of which Android's HttpURLConnection is a fork, set up as Android's
 * HttpsHandler does.
 */
final class OkHttpUrlOpener implements UrlOpener {
    private final OkHttpClient client = new OkHttpClient();

    OkHttpUrlOpener(TappedSocketFactory socketFactory) {
        client.setSslSocketFactory(socketFactory);
        client.setProtocols(Collections.singletonList(Protocol.HTTP_1_1));
        client.setConnectionSpecs(Collections.singletonList(
                new ConnectionSpec.Builder(ConnectionSpec.MODERN_TLS).allEnabledCipherSuites().allEnabledTlsVersions().build()));
        client.setConnectionPool(new ConnectionPool(5, TimeUnit.MINUTES.toMillis(5)));
        client.setConnectTimeout(0, TimeUnit.MILLISECONDS);
        client.setReadTimeout(0, TimeUnit.MILLISECONDS);
        client.setWriteTimeout(0, TimeUnit.MILLISECONDS);
        client.setProxy(Proxy.NO_PROXY);
        client.setRetryOnConnectionFailure(false);
        client.setDns(new StampedDns());
    }

    @Override
    public HttpsURLConnection open(URL url) {
        HttpsURLConnection connection = (HttpsURLConnection) new OkUrlFactory(client).open(url);
        connection.setRequestProperty("accept-encoding", "identity");
        return connection;
    }

    @Override
    public void close() {
        client.getConnectionPool().evictAll();
    }

    private static final class StampedDns implements Dns {
        @Override
        public List<InetAddress> lookup(String name) throws UnknownHostException {
            List<InetAddress> addresses = Dns.SYSTEM.lookup(name);
            HucCall.current().trace().stamp(Phase.DNS);
            return addresses;
        }
    }
}
