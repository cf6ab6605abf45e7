import commute.client.Commute;
import commute.client.RouteReport;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/** Fetches a URL by OkHttp over the engine, and says how it came: {@code Sample URL ROOTS.pem}. */
final class Sample {
    public static void main(String[] arguments) throws Exception {
        KeyStore roots = KeyStore.getInstance(KeyStore.getDefaultType());
        roots.load(null, null);
        try (InputStream pem = Files.newInputStream(Paths.get(arguments[1]))) {
            roots.setCertificateEntry("root", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(roots);
        X509TrustManager trust = (X509TrustManager) factory.getTrustManagers()[0];
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, new TrustManager[] {trust}, null);

        OkHttpClient client = Commute.install(
                        new OkHttpClient.Builder().sslSocketFactory(tls.getSocketFactory(), trust))
                .build();
        Request request = new Request.Builder().url(arguments[0]).build();
        try (Response response = client.newCall(request).execute()) {
            RouteReport report = Commute.report(response);
            String route = report.byEngine() ? "HTTP/" + report.httpVersion() + " by the engine" : report.why();
            System.out.println(response.code() + ", " + route + ": " + response.body().string().trim());
        }
        // The engine's threads would keep the process for a while.
        System.exit(0);
    }
}
