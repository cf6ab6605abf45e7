package commute.client;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.CertificatePinner;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;
import okio.Timeout;

/**
 * Makes calls of one client, through an engine where possible, for OkHttp 4.12 and later: before 5.4
 * an interceptor cannot change a call's sockets, so there is a second flavour of the client.
 */
final class CommuteCallFactory implements Call.Factory {
    private final OkHttpClient plain;
    private OkHttpClient flavour;
    private Engine flavourOf;

    CommuteCallFactory(OkHttpClient client) {
        plain = client.newBuilder().addNetworkInterceptor(new ResponseInterceptor()).build();
    }

    @Override
    public Call newCall(Request request) {
        Route route = plain.protocols().contains(Protocol.HTTP_2) ? Route.of(request, client()) : null;
        if (route == null) {
            return plain.newCall(Attempt.plainly(PlainReason.PROTOCOLS, null).tag(request));
        }
        if (route.plain != null) {
            return plain.newCall(route.plain.tag(request));
        }
        EngineCall call = new EngineCall(request, route.engine);
        return (Call) Proxy.newProxyInstance(Call.class.getClassLoader(), new Class<?>[] {Call.class}, call);
    }

    /** Returns OkHttp's own call under one of this factory's. */
    static Call real(Call call) {
        if (Proxy.isProxyClass(call.getClass())) {
            InvocationHandler handler = Proxy.getInvocationHandler(call);
            return handler instanceof EngineCall ? ((EngineCall) handler).current() : call;
        }
        return call;
    }

    private Route.Client client() {
        Route.Client client = new Route.Client();
        client.proxy = plain.proxy();
        client.proxySelector = plain.proxySelector();
        client.socketFactory = plain.socketFactory();
        client.dns = plain.dns();
        client.trustManager = plain.x509TrustManager();
        client.verifier = plain.hostnameVerifier();
        client.pinner = plain.certificatePinner();
        return client;
    }

    private synchronized OkHttpClient flavour(Engine engine) {
        if (flavourOf != engine) {
            OkHttpClient.Builder builder = plain.newBuilder();
            builder.interceptors().add(0, CommuteCallFactory::begin);
            flavour = builder.socketFactory(engine.sockets)
                    .sslSocketFactory(engine.sslSockets, EngineTrustManager.INSTANCE)
                    .hostnameVerifier(EngineTrustManager.ANY_NAME)
                    .certificatePinner(CertificatePinner.DEFAULT)
                    .retryOnConnectionFailure(false)
                    .build();
            flavourOf = engine;
        }
        return flavour;
    }

    private static Response begin(Interceptor.Chain chain) throws IOException {
        WatchdogTimeout.use();
        chain.request().tag(Attempt.class).begin();
        return chain.proceed(chain.request());
    }

    /** A call through the engine that becomes a plain one if the engine does not do it. */
    private final class EngineCall implements InvocationHandler {
        private final Request request;
        private final Engine engine;
        private final Attempt attempt = Attempt.byEngine(plain.retryOnConnectionFailure(), plain.connectionPool());
        private Call current;
        private boolean isPlain;

        EngineCall(Request request, Engine engine) {
            this.request = request;
            this.engine = engine;
            current = flavour(engine).newCall(attempt.tag(request));
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            switch (method.getName()) {
                case "request":
                    return request;
                case "clone":
                    return newCall(request);
                case "execute":
                    return execute();
                case "enqueue":
                    enqueue((Call) proxy, (Callback) arguments[0]);
                    return null;
                case "cancel":
                    cancel();
                    return null;
                case "equals":
                    return proxy == arguments[0];
                case "hashCode":
                    return System.identityHashCode(proxy);
                default:
                    try {
                        return method.invoke(current(), arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
            }
        }

        private Response execute() throws IOException {
            try {
                return current().execute();
            } catch (IOException failure) {
                EngineUnavailableException unavailable = EngineUnavailableException.of(failure);
                Call again = unavailable == null ? null : again(unavailable);
                if (again == null) {
                    throw failure;
                }
                return worked(unavailable, again.execute());
            }
        }

        private void enqueue(Call proxy, Callback callback) {
            current().enqueue(new Callback() {
                @Override
                public void onResponse(Call call, Response response) throws IOException {
                    callback.onResponse(proxy, response);
                }

                @Override
                public void onFailure(Call call, IOException failure) {
                    EngineUnavailableException unavailable = EngineUnavailableException.of(failure);
                    Call again = unavailable == null ? null : again(unavailable);
                    if (again == null) {
                        callback.onFailure(proxy, failure);
                        return;
                    }
                    again.enqueue(new Callback() {
                        @Override
                        public void onResponse(Call call, Response response) throws IOException {
                            callback.onResponse(proxy, worked(unavailable, response));
                        }

                        @Override
                        public void onFailure(Call call, IOException failure) {
                            callback.onFailure(proxy, failure);
                        }
                    });
                }
            });
        }

        /** Cancels the call, but not while {@link #again} decides that nobody has cancelled it. */
        private synchronized void cancel() {
            current.cancel();
        }

        private synchronized Call current() {
            return current;
        }

        /** Returns the plain call that follows; null if none may. */
        private synchronized Call again(EngineUnavailableException unavailable) {
            LenientOrigins.learn(unavailable);
            if (isPlain || current.isCanceled() || !attempt.mayBeRepeated(request, unavailable)) {
                return null;
            }
            isPlain = true;
            Timeout limits = current.timeout();
            current = plain.newCall(Attempt.plainly(unavailable.reason, unavailable.getMessage()).tag(request));
            limit(current.timeout(), limits);
            return current;
        }

        /** Limits the plain call as the one before, whose time counts. */
        private void limit(Timeout plain, Timeout before) {
            long limitNs = before.timeoutNanos();
            plain.timeout(limitNs > 0 ? Math.max(1, limitNs - attempt.sinceBeginNs()) : 0, TimeUnit.NANOSECONDS);
            if (before.hasDeadline()) {
                plain.deadlineNanoTime(before.deadlineNanoTime());
            }
        }

        private Response worked(EngineUnavailableException unavailable, Response response) {
            if (unavailable.reason == PlainReason.NOT_SENT) {
                engine.workedWithout();
            }
            return response;
        }
    }
}
