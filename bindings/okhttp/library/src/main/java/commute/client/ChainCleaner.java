package commute.client;

import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.X509TrustManager;

/**
 * Orders a chain that was accepted, from the server's certificate to the root, which servers do not
 * send. {@code Response.handshake()} has such a chain.
 */
final class ChainCleaner {
    private static final int MAX_SIGNERS = 9;

    private final X509TrustManager trustManager;

    ChainCleaner(X509TrustManager trustManager) {
        this.trustManager = trustManager;
    }

    /** Returns the chain as it came if no root is found. */
    List<X509Certificate> clean(List<X509Certificate> chain) {
        List<X509Certificate> left = new ArrayList<>(chain);
        List<X509Certificate> cleaned = new ArrayList<>();
        X509Certificate last = left.remove(0);
        cleaned.add(last);
        X509Certificate[] roots = trustManager.getAcceptedIssuers();
        for (int signers = 0; signers < MAX_SIGNERS; signers++) {
            X509Certificate root = signer(last, java.util.Arrays.asList(roots));
            if (root != null) {
                if (!root.equals(last)) {
                    cleaned.add(root);
                }
                if (isSignedBy(root, root)) {
                    return Collections.unmodifiableList(cleaned);
                }
                last = root;
                continue;
            }
            X509Certificate next = signer(last, left);
            if (next == null) {
                break;
            }
            left.remove(next);
            cleaned.add(next);
            last = next;
        }
        return Collections.unmodifiableList(new ArrayList<>(chain));
    }

    private static X509Certificate signer(X509Certificate certificate, List<X509Certificate> candidates) {
        for (X509Certificate candidate : candidates) {
            if (isSignedBy(certificate, candidate)) {
                return candidate;
            }
        }
        return null;
    }

    private static boolean isSignedBy(X509Certificate certificate, X509Certificate signer) {
        if (!certificate.getIssuerX500Principal().equals(signer.getSubjectX500Principal())) {
            return false;
        }
        try {
            certificate.verify(signer.getPublicKey());
            return true;
        } catch (GeneralSecurityException anotherKey) {
            return false;
        }
    }
}
