package commute.huc;

import java.io.IOException;
import java.net.URL;
import javax.net.ssl.HttpsURLConnection;

/** Opens URLs with one implementation of HttpURLConnection and its own set of connections. */
interface UrlOpener {
    /** Opens a connection object without touching the network. */
    HttpsURLConnection open(URL url) throws IOException;

    /** Drops the idle connections. */
    default void close() {}

    /** Makes openers whose TLS sockets come from a socket factory. */
    interface Factory {
        UrlOpener create(TappedSocketFactory socketFactory);
    }
}
