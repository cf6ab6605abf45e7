package commute.huc;

import commute.driver.CodecClassLoader;
import commute.driver.Driver;
import commute.driver.StackInfo;
import java.security.Security;
import javax.net.ssl.SSLContext;
import org.conscrypt.Conscrypt;

/** Drives the HttpURLConnection that the argument names, {@code android} or {@code jdk}. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.useTmpdir();
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "android":
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Driver.run(new HucStack(android(), OkHttpUrlOpener::new), CodecClassLoader.loadMessages());
                break;
            case "jdk":
                // Otherwise a POST is silently resent when its reused connection proves dead.
                System.setProperty("sun.net.http.retryPost", "false");
                Driver.run(new HucStack(jdk(), JdkUrlOpener::new), CodecClassLoader.loadMessages());
                break;
            default:
                throw new IllegalArgumentException("expected one argument: android or jdk");
        }
    }

    private static StackInfo android() {
        Conscrypt.Version version = Conscrypt.version();
        return identity("HttpURLConnection of OkHttp 2 (as Android's)", com.squareup.okhttp.internal.Version.userAgent().replace("okhttp/", ""),
                "Conscrypt " + version.major() + "." + version.minor() + "." + version.patch())
                .phase("dns", "OkHttp's Dns returned")
                .setting("TCP_NODELAY", "off (default)")
                .setting("pool", "5 idle connections for 5 min (default)")
                .setting("retries", "setRetryOnConnectionFailure(false)")
                .setting("connection spec", "every TLS version and cipher suite that Conscrypt enables, as Android's HttpsHandler sets it (OkHttp 2 by itself stops at TLS 1.2)")
                .setting("accept-encoding", "identity (default: gzip)");
    }

    private static StackInfo jdk() throws Exception {
        String java = System.getProperty("java.runtime.version");
        return identity("HttpURLConnection of the JDK", java, SSLContext.getDefault().getProvider().getName() + " of Java " + java)
                .setting("TCP_NODELAY", "on (default)")
                .setting("pool", "5 idle connections per origin, for 5 s unless the server says otherwise (default)")
                .setting("retries", "POST: none (sun.net.http.retryPost=false); any other request is resent once, and counted, when its reused connection proves dead");
    }

    private static StackInfo identity(String stack, String version, String tls) {
        return new StackInfo(stack, version, tls)
                .protocols("h1")
                .capabilities("mtls", "resume", "parallel", "cancel", "fetch")
                .phase("connect", "the library requests TLS over its connected socket")
                .phase("tls", "SSLSocket.startHandshake returned to the library")
                .phase("request_sent", "the library's last SSLSocket write before the response returned")
                .phase("first_byte", "the library's first SSLSocket read of the response returned")
                .phase("end", "body read to its end on the calling thread")
                .setting("threads", "one blocking call per thread, from a cached pool")
                .setting("request bodies", "setFixedLengthStreamingMode")
                .setting("redirects", "not followed");
    }
}
