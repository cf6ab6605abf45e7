package commute.client;

import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.X509TrustManager;

/**
 * Stands where OkHttp wants a trust manager beside the socket factory. OkHttp never asks it: sockets
 * do, and the engine's ask {@link TrustContext}.
 */
final class EngineTrustManager implements X509TrustManager {
    static final EngineTrustManager INSTANCE = new EngineTrustManager();
    /** Only for engine sockets, which lead to servers whose name {@link TrustContext} checked. */
    static final HostnameVerifier ANY_NAME = (host, session) -> session instanceof EngineSession;

    private EngineTrustManager() {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        throw new CertificateException("not for real sockets");
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        throw new CertificateException("not for real sockets");
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return new X509Certificate[0];
    }
}
