package commute.client;

import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
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
