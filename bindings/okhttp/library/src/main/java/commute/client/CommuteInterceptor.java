package commute.client;

import java.io.IOException;
import okhttp3.CertificatePinner;
import okhttp3.Interceptor;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Leads a call's connections to the engine, for OkHttp 5.4 and later. Its place among the application
 * interceptors does not matter. Added by {@link Commute#install}, with the network interceptor that
 * it needs.
 */
final class CommuteInterceptor implements Interceptor {
    CommuteInterceptor() {}

    @Override
    public Response intercept(Chain chain) throws IOException {
        Request request = chain.request();
        Route route = Route.of(request, client(chain));
        if (route.plain != null) {
            return chain.proceed(route.plain.tag(request));
        }
        WatchdogTimeout.use();
        Attempt attempt = Attempt.byEngine(chain.getRetryOnConnectionFailure(), chain.getConnectionPool());
        try {
            return through(chain, route.engine).proceed(attempt.tag(request));
        } catch (IOException failure) {
            EngineUnavailableException unavailable = EngineUnavailableException.of(failure);
            if (unavailable == null) {
                throw failure;
            }
            LenientOrigins.learn(unavailable);
            if (chain.call().isCanceled() || !attempt.mayBeRepeated(request, unavailable)) {
                throw failure;
            }
            Response response =
                    chain.proceed(Attempt.plainly(unavailable.reason, unavailable.getMessage()).tag(request));
            if (unavailable.reason == PlainReason.NOT_SENT) {
                route.engine.workedWithout();
            }
            return response;
        }
    }

    /**
     * Returns a chain whose sockets lead to the engine. The engine asks the app's verifier and pinner about its own
     * connections, and repeats requests by its own rules, if the app allows it. Sockets to the engine are in the
     * client's own pool, so that what the app does with the pool concerns them.
     */
    private static Chain through(Chain chain, Engine engine) {
        return chain.withSocketFactory(engine.sockets)
                .withSslSocketFactory(engine.sslSockets, EngineTrustManager.INSTANCE)
                .withHostnameVerifier(EngineTrustManager.ANY_NAME)
                .withCertificatePinner(CertificatePinner.DEFAULT)
                .withRetryOnConnectionFailure(false);
    }

    private static Route.Client client(Chain chain) {
        Route.Client client = new Route.Client();
        client.proxy = chain.getProxy();
        client.proxySelector = chain.getProxySelector();
        client.socketFactory = chain.getSocketFactory();
        client.dns = chain.getDns();
        client.trustManager = chain.getX509TrustManagerOrNull();
        client.verifier = chain.getHostnameVerifier();
        client.pinner = chain.getCertificatePinner();
        return client;
    }
}
