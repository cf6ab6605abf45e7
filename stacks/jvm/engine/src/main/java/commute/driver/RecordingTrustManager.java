package commute.driver;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Checks chains with the runtime's trust manager and records that it did. A server that resumes a
 * session sends no chain, so a handshake without a check was a resumed one. Libraries on blocking
 * sockets check on the thread of the handshake.
 */
public final class RecordingTrustManager extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager delegate;
    private final ThreadLocal<Boolean> checked = new ThreadLocal<>();
    private final AtomicInteger checks = new AtomicInteger();

    public RecordingTrustManager(X509ExtendedTrustManager delegate) {
        this.delegate = delegate;
    }

    /** Records that a handshake starts on this thread. */
    public void handshakeStarted() {
        checked.remove();
    }

    /** Returns whether the handshake just completed on this thread resumed a session. */
    public boolean resumed() {
        return checked.get() == null;
    }

    /** Returns the number of checks so far, on all threads. */
    public int checks() {
        return checks.get();
    }

    private void record() {
        checked.set(true);
        checks.incrementAndGet();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        record();
        delegate.checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        record();
        delegate.checkServerTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        record();
        delegate.checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        delegate.checkClientTrusted(chain, type, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        delegate.checkClientTrusted(chain, type, engine);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        delegate.checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return delegate.getAcceptedIssuers();
    }
}
