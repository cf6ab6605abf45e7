package commute.huc;

import commute.driver.CodecFolder;
import commute.driver.Driver;
import commute.driver.Identity;
import java.security.Security;
import javax.net.ssl.SSLContext;
import org.conscrypt.Conscrypt;

/** {@code android} or {@code jdk}: whose HttpURLConnection. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.keepToTemporaryFolder();
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "android":
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Driver.main(new HucStack(android(), OkUrls::new), CodecFolder.messages());
                break;
            case "jdk":
                // Else a POST whose kept connection proves dead is sent again without a word.
                System.setProperty("sun.net.http.retryPost", "false");
                Driver.main(new HucStack(jdk(), JdkUrls::new), CodecFolder.messages());
                break;
            default:
                throw new IllegalArgumentException("one argument: android or jdk");
        }
    }

    private static Identity android() {
        Conscrypt.Version version = Conscrypt.version();
        return identity("HttpURLConnection of OkHttp 2 (as Android's)", com.squareup.okhttp.internal.Version.userAgent().replace("okhttp/", ""),
                "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch())
                .phase("dns", "OkHttp's Dns returned")
                .setting("TCP_NODELAY", "off (stock)")
                .setting("pool", "5 idle connections, 5 min (stock)")
                .setting("retries", "setRetryOnConnectionFailure(false)")
                .setting("connection spec", "every TLS version and cipher suite that Conscrypt enables, as Android's HttpsHandler sets it (OkHttp 2 alone stops at TLS 1.2)")
                .setting("accept-encoding", "identity (stock: gzip)");
    }

    private static Identity jdk() throws Exception {
        String java = System.getProperty("java.runtime.version");
        return identity("HttpURLConnection of the JDK", java, SSLContext.getDefault().getProvider().getName() + " of Java " + java)
                .setting("TCP_NODELAY", "on (stock)")
                .setting("pool", "5 idle connections an origin, 5 s unless the server says else (stock)")
                .setting("retries", "a POST: none (sun.net.http.retryPost=false); any other is sent again once when its kept connection proves dead, and counted");
    }

    private static Identity identity(String stack, String version, String tls) {
        return new Identity(stack, version, tls)
                .protocols("h1")
                .capabilities("mtls", "resume", "parallel", "cancel")
                .phase("connect", "the library asks for TLS over its connected socket")
                .phase("tls", "SSLSocket.startHandshake returned to the library")
                .phase("request_sent", "the library's last SSLSocket write before the response returned")
                .phase("first_byte", "the library's first SSLSocket read of the response returned")
                .phase("end", "body read to its end on the calling thread")
                .setting("threads", "one blocking call each, from a cached pool")
                .setting("request bodies", "setFixedLengthStreamingMode")
                .setting("redirects", "not followed");
    }
}
