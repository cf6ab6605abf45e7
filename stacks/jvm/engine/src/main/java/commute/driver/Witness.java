package commute.driver;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * Judges chains as the runtime does, and remembers that it was asked: a server that resumes a
 * session sends no chain, so a handshake without a question was a resumed one. Libraries on
 * blocking sockets ask on the thread that does the handshake.
 */
public final class Witness extends X509ExtendedTrustManager {
    private final X509ExtendedTrustManager judge;
    private final ThreadLocal<Boolean> asked = new ThreadLocal<>();
    private final AtomicInteger questions = new AtomicInteger();

    public Witness(X509ExtendedTrustManager judge) {
        this.judge = judge;
    }

    /** This thread begins a handshake. */
    public void handshakeBegins() {
        asked.remove();
    }

    /** Whether this thread's handshake, which is done, resumed a session. */
    public boolean resumed() {
        return asked.get() == null;
    }

    /** How often it was asked so far, on whatever thread. */
    public int questions() {
        return questions.get();
    }

    private void ask() {
        asked.set(true);
        questions.incrementAndGet();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        ask();
        judge.checkServerTrusted(chain, type, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        ask();
        judge.checkServerTrusted(chain, type, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
        ask();
        judge.checkServerTrusted(chain, type);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) throws CertificateException {
        judge.checkClientTrusted(chain, type, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) throws CertificateException {
        judge.checkClientTrusted(chain, type, engine);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
        judge.checkClientTrusted(chain, type);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        return judge.getAcceptedIssuers();
    }
}
