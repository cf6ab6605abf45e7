package commute.driver;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;

/** The authorities to trust and the client's certificate, from a setup's files. */
public final class Credentials {
    private static final char[] NO_PASSWORD = {};

    private final X509ExtendedTrustManager trustManager;
    /** Null without a client certificate. */
    private final KeyManager[] keyManagers;

    public Credentials(Setup setup) throws IOException, GeneralSecurityException {
        trustManager = trustManager(setup.caFile);
        keyManagers = setup.clientCertFile == null ? null : keyManagers(setup.clientCertFile, setup.clientKeyFile);
    }

    /** Returns a context without any sessions, from the first provider of TLS. */
    public SSLContext newContext(X509TrustManager trustManager) throws GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keyManagers, new TrustManager[] {trustManager}, null);
        return context;
    }

    /** Returns the trust manager that accepts only the setup's authorities. */
    public X509ExtendedTrustManager trustManager() {
        return trustManager;
    }

    private static X509ExtendedTrustManager trustManager(File caFile) throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate authority : certificates(caFile)) {
            store.setCertificateEntry("authority " + ++number, authority);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        for (TrustManager manager : factory.getTrustManagers()) {
            if (manager instanceof X509ExtendedTrustManager) {
                return (X509ExtendedTrustManager) manager;
            }
        }
        throw new GeneralSecurityException("no X.509 trust manager in this runtime");
    }

    private static KeyManager[] keyManagers(File certFile, File keyFile) throws IOException, GeneralSecurityException {
        Certificate[] chain = certificates(certFile).toArray(new Certificate[0]);
        KeyStore store = emptyStore();
        store.setKeyEntry("client", key(keyFile, chain[0].getPublicKey().getAlgorithm()), NO_PASSWORD, chain);
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NO_PASSWORD);
        return factory.getKeyManagers();
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        return store;
    }

    private static Collection<? extends Certificate> certificates(File file) throws IOException, CertificateException {
        try (InputStream pem = new FileInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(pem);
        }
    }

    /** Reads a PKCS#8 key. Java parses certificates in PEM, but not keys. */
    private static PrivateKey key(File file, String algorithm) throws IOException, GeneralSecurityException {
        String pem = new String(Files.readAllBytes(file.toPath()), StandardCharsets.US_ASCII);
        String begin = "-----BEGIN PRIVATE KEY-----";
        int at = pem.indexOf(begin);
        if (at < 0) {
            throw new GeneralSecurityException(file + " contains no PKCS#8 key in PEM");
        }
        String base64 = pem.substring(at + begin.length(), pem.indexOf("-----END", at));
        byte[] der = Base64.getMimeDecoder().decode(base64);
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
    }
}
