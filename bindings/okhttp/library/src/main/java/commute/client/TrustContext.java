package commute.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import okhttp3.CertificatePinner;

/**
 * An app's checks of certificates: its trust manager, its hostname verifier and its pinner. The engine asks them in
 * every handshake, with the chain of the session if one is resumed.
 */
final class TrustContext {
    private static final int MAX_HOSTS = 256;
    /** What JSSE says for TLS 1.3, whose suites do not name a key exchange. */
    private static final String AUTH_TYPE = "UNKNOWN";

    /** How long a check may take, while no other call of the engine goes on. Tests shorten it. */
    static volatile int limitMs = 10_000;

    private static final ThreadLocal<Boolean> CHECKING = new ThreadLocal<>();
    /** The engine's own thread must not depend on what an app's check waits for. */
    private static final Executor THREADS = threads();

    private final X509TrustManager trustManager;
    private final HostnameVerifier verifier;
    private final CertificatePinner pinner;
    private final ChainCleaner cleaner;
    private final HostAwareCheck hostAware;
    /** The last chain that was accepted for each host, cleaned. */
    private final Map<String, List<X509Certificate>> known = recent();

    private final Map<String, SSLException> refusals = recent();

    TrustContext(X509TrustManager trustManager, HostnameVerifier verifier, CertificatePinner pinner) {
        this.trustManager = trustManager;
        this.verifier = verifier;
        this.pinner = pinner;
        cleaner = new ChainCleaner(trustManager);
        hostAware = HostAwareCheck.of(trustManager);
    }

    /** Reports whether the engine waits for this thread, which must not wait for the engine. */
    static boolean isChecking() {
        return CHECKING.get() != null;
    }

    /** Reports whether the app accepts a chain. Called by the engine. */
    @SuppressWarnings("unused")
    boolean accepts(byte[][] der, String host) {
        FutureTask<List<X509Certificate>> check = new FutureTask<>(() -> {
            CHECKING.set(true);
            try {
                return check(der, host);
            } finally {
                CHECKING.remove();
            }
        });
        try {
            THREADS.execute(check);
            known.put(host, check.get(limitMs, TimeUnit.MILLISECONDS));
            refusals.remove(host);
            return true;
        } catch (ExecutionException failed) {
            Throwable cause = failed.getCause();
            refusals.put(host, cause instanceof SSLException ? (SSLException) cause : handshakeFailure(cause));
        } catch (TimeoutException late) {
            check.cancel(true);
            TimeoutException said =
                    new TimeoutException("the certificate of " + host + " was not checked within " + limitMs + " ms");
            refusals.put(host, handshakeFailure(said));
        } catch (Exception | OutOfMemoryError failed) {
            refusals.put(host, handshakeFailure(failed));
        }
        return false;
    }

    /** Returns the last chain that was accepted for a host, cleaned; null if there is none. */
    List<X509Certificate> knownChain(String host) {
        return known.get(host);
    }

    /** Returns why the last chain of a host was refused. */
    IOException refusal(String host) {
        SSLException last = refusals.get(host);
        if (last == null) {
            return new SSLHandshakeException("the certificate of " + host + " was refused");
        }
        // Several calls may fail for one reason, each with an exception of its own.
        SSLException copy = last instanceof SSLPeerUnverifiedException
                ? new SSLPeerUnverifiedException(last.getMessage())
                : new SSLHandshakeException(last.getMessage());
        copy.initCause(last.getCause());
        return copy;
    }

    /** Checks in OkHttp's order: chain, name, pins. Returns the cleaned chain. */
    private List<X509Certificate> check(byte[][] der, String host) throws Exception {
        CertificateFactory factory = CertificateFactory.getInstance("X.509");
        List<X509Certificate> chain = new ArrayList<>();
        for (byte[] certificate : der) {
            chain.add((X509Certificate) factory.generateCertificate(new ByteArrayInputStream(certificate)));
        }
        List<X509Certificate> cleaned = checkChain(chain, host);
        if (!verifier.verify(host, new EngineSession(host, -1, chain))) {
            throw new SSLPeerUnverifiedException("Hostname " + host + " not verified:\n    certificate: "
                    + CertificatePinner.pin(chain.get(0)) + "\n    DN: " + chain.get(0).getSubjectX500Principal());
        }
        pinner.check(host, new ArrayList<>(chain));
        return cleaned;
    }

    private List<X509Certificate> checkChain(List<X509Certificate> chain, String host) throws SSLException {
        X509Certificate[] array = chain.toArray(new X509Certificate[0]);
        try {
            if (hostAware != null) {
                return hostAware.check(array, AUTH_TYPE, host);
            }
            if (trustManager instanceof X509ExtendedTrustManager) {
                ((X509ExtendedTrustManager) trustManager).checkServerTrusted(array, AUTH_TYPE, handshake(host));
            } else {
                trustManager.checkServerTrusted(array, AUTH_TYPE);
            }
            return cleaner.clean(chain);
        } catch (Throwable refused) {
            throw handshakeFailure(refused);
        }
    }

    /** Returns a socket as JSSE would show it while a handshake with this host goes on. */
    private static HandshakeSocket handshake(String host) {
        SSLParameters parameters = new SSLParameters();
        List<SNIServerName> names = EngineSession.serverNames(host);
        if (!names.isEmpty()) {
            parameters.setServerNames(names);
        }
        Alpn.offer(parameters);
        return new HandshakeSocket(host, new EngineSession(host, -1, null), parameters);
    }

    private static Executor threads() {
        ThreadFactory daemons = task -> {
            Thread thread = new Thread(task, "commute certificate check");
            thread.setDaemon(true);
            return thread;
        };
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), daemons);
    }

    private static SSLHandshakeException handshakeFailure(Throwable cause) {
        SSLHandshakeException failure = new SSLHandshakeException(cause.getMessage());
        failure.initCause(cause);
        return failure;
    }

    private static <V> Map<String, V> recent() {
        return Collections.synchronizedMap(new LinkedHashMap<String, V>(16, 0.75f, true) {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
                return size() > MAX_HOSTS;
            }
        });
    }

    @Override
    public boolean equals(Object object) {
        if (!(object instanceof TrustContext)) {
            return false;
        }
        TrustContext other = (TrustContext) object;
        return trustManager == other.trustManager && verifier == other.verifier && pinner.equals(other.pinner);
    }

    @Override
    public int hashCode() {
        return 31 * System.identityHashCode(trustManager) + System.identityHashCode(verifier);
    }
}
