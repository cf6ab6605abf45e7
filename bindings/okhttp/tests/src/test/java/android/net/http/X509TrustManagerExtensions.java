package android.net.http;

import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.X509TrustManager;

/** Stands for Android's class of this name, which alone knows how to tell Android's trust managers the host. */
public class X509TrustManagerExtensions {
    private final HostAware trustManager;

    /** As Android's own trust managers. */
    public interface HostAware {
        List<X509Certificate> trusted(X509Certificate[] chain, String host) throws CertificateException;
    }

    public X509TrustManagerExtensions(X509TrustManager trustManager) {
        if (!(trustManager instanceof HostAware)) {
            throw new IllegalArgumentException("it cannot be told the host");
        }
        this.trustManager = (HostAware) trustManager;
    }

    public List<X509Certificate> checkServerTrusted(X509Certificate[] chain, String authType, String host)
            throws CertificateException {
        return trustManager.trusted(chain, host);
    }
}
