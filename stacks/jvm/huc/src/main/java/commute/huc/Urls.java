package commute.huc;

import java.io.IOException;
import java.net.URL;
import javax.net.ssl.HttpsURLConnection;

/** Opens URLs with one implementation of HttpURLConnection and one set of connections. */
interface Urls {
    HttpsURLConnection open(URL url) throws IOException;

    /** Its idle connections are no longer wanted. */
    default void close() {}

    /** One that makes its TLS sockets there. */
    interface Maker {
        Urls over(Sockets sockets);
    }
}
