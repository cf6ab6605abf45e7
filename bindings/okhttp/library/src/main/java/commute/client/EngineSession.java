package commute.client;

import java.security.Principal;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SNIServerName;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSessionContext;

/** What is known of a TLS session: the name and the certificates of the server. */
final class EngineSession extends ExtendedSSLSession {
    /** The engine does not report it; OkHttp wants a version that it knows. */
    static final String PROTOCOL = "TLSv1.3";
    /** The engine does not report it. */
    static final String CIPHER_SUITE = "TLS_UNKNOWN";

    /** What trust managers of the JDK allow in certificates, as names of {@code java.security.Signature}. */
    private static final String[] SIGNATURES = {
        "SHA256withECDSA", "SHA384withECDSA", "SHA512withECDSA", "SHA256withRSA", "SHA384withRSA", "SHA512withRSA",
        "RSASSA-PSS", "Ed25519", "EdDSA", "SHA1withECDSA", "SHA1withRSA"
    };

    private final String host;
    private final int port;
    private final List<X509Certificate> chain;
    private final long created = System.currentTimeMillis();
    private final Map<String, Object> values = Collections.synchronizedMap(new HashMap<>());

    /** Creates a session. {@code port} is -1 if it is not known, {@code chain} null. */
    EngineSession(String host, int port, List<X509Certificate> chain) {
        this.host = host;
        this.port = port;
        this.chain = chain;
    }

    @Override
    public String[] getLocalSupportedSignatureAlgorithms() {
        return SIGNATURES.clone();
    }

    /** Returns an empty array: the engine does not report the peer's algorithms. */
    @Override
    public String[] getPeerSupportedSignatureAlgorithms() {
        return new String[0];
    }

    /** Returns the host, unless it is an address. */
    @Override
    public List<SNIServerName> getRequestedServerNames() {
        return serverNames(host);
    }

    /**
     * Returns an empty list: the engine passes no OCSP responses on. Without {@code Override}, since Java 8 has no
     * such method.
     */
    @SuppressWarnings("unused")
    public List<byte[]> getStatusResponses() {
        return Collections.emptyList();
    }

    /** Reports whether a host is an IP address instead of a name. */
    static boolean isAddress(String host) {
        return host.indexOf(':') >= 0 || host.matches("[0-9.]+");
    }

    static List<SNIServerName> serverNames(String host) {
        if (isAddress(host)) {
            return Collections.emptyList();
        }
        try {
            return Collections.singletonList(new SNIHostName(host));
        } catch (IllegalArgumentException noName) {
            return Collections.emptyList();
        }
    }

    @Override
    public Certificate[] getPeerCertificates() throws SSLPeerUnverifiedException {
        if (chain == null) {
            throw new SSLPeerUnverifiedException("no certificate of " + host + " has been seen yet");
        }
        return chain.toArray(new Certificate[0]);
    }

    @Override
    @SuppressWarnings({"deprecation", "removal"})
    public javax.security.cert.X509Certificate[] getPeerCertificateChain() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Principal getPeerPrincipal() throws SSLPeerUnverifiedException {
        return ((X509Certificate) getPeerCertificates()[0]).getSubjectX500Principal();
    }

    @Override
    public Certificate[] getLocalCertificates() {
        return null;
    }

    @Override
    public Principal getLocalPrincipal() {
        return null;
    }

    @Override
    public String getProtocol() {
        return PROTOCOL;
    }

    @Override
    public String getCipherSuite() {
        return CIPHER_SUITE;
    }

    @Override
    public String getPeerHost() {
        return host;
    }

    @Override
    public int getPeerPort() {
        return port;
    }

    @Override
    public byte[] getId() {
        return new byte[0];
    }

    @Override
    public SSLSessionContext getSessionContext() {
        return null;
    }

    @Override
    public long getCreationTime() {
        return created;
    }

    @Override
    public long getLastAccessedTime() {
        return created;
    }

    @Override
    public void invalidate() {}

    @Override
    public boolean isValid() {
        return true;
    }

    @Override
    public void putValue(String name, Object value) {
        values.put(name, value);
    }

    @Override
    public Object getValue(String name) {
        return values.get(name);
    }

    @Override
    public void removeValue(String name) {
        values.remove(name);
    }

    @Override
    public String[] getValueNames() {
        return values.keySet().toArray(new String[0]);
    }

    @Override
    public int getPacketBufferSize() {
        return 16 << 10;
    }

    @Override
    public int getApplicationBufferSize() {
        return 16 << 10;
    }
}
