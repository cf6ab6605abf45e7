package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.tls.HandshakeCertificates;

/** Makes clients, plain and with commute, with whatever version of OkHttp is on the class path. */
final class TestClients {
    /** Before 5.4 an interceptor cannot change a call's sockets. */
    static final boolean BY_INTERCEPTOR = byInterceptor();

    private TestClients() {}

    static OkHttpClient.Builder trusting(HandshakeCertificates trust) {
        return new OkHttpClient.Builder()
                .sslSocketFactory(trust.sslSocketFactory(), trust.trustManager())
                .callTimeout(20, TimeUnit.SECONDS);
    }

    static Call.Factory withCommute(OkHttpClient.Builder builder) {
        return BY_INTERCEPTOR ? Commute.install(builder).build() : Commute.callFactory(builder.build());
    }

    /**
     * Repeats a request until a response comes by HTTP/3, and returns that response. TCP may win the race on a busy
     * machine; QUIC goes on then.
     */
    static Response awaitHttp3(Call.Factory client, Request request) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (true) {
            Response response = client.newCall(request).execute();
            RouteReport report = Commute.report(response);
            if (report.httpVersion() == 3) {
                return response;
            }
            response.body().bytes();
            assertTrue(System.nanoTime() < deadline, "after 20 s still " + report);
            Thread.sleep(10);
        }
    }

    private static boolean byInterceptor() {
        if (Boolean.getBoolean("commute.callFactory")) {
            return false;
        }
        try {
            Interceptor.Chain.class.getMethod("withConnectionPool", okhttp3.ConnectionPool.class);
            return true;
        } catch (NoSuchMethodException before54) {
            return false;
        }
    }
}
