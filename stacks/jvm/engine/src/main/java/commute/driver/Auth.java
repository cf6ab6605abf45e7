package commute.driver;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * How requests prove who sends them: with a bearer token, or with a signature by RFC 9421 and RFC
 * 9530 (docs/driver-protocol.md).
 */
public final class Auth {
    /** The bytes of a nonce. */
    static final int NONCE_BYTES = 16;

    private static final byte[] CHUNK_PURPOSE = "commute chunk 1\0".getBytes(StandardCharsets.US_ASCII);

    /** Null for requests that are signed. */
    private final String bearer;
    private final String keyId;
    private final SecretKeySpec secret;
    private final SecureRandom random = new SecureRandom();

    private Auth(String bearer, String keyId, SecretKeySpec secret) {
        this.bearer = bearer;
        this.keyId = keyId;
        this.secret = secret;
    }

    /** Reads the token that each request carries. */
    static Auth jwt(File token) throws IOException {
        return new Auth("Bearer " + line(token), null, null);
    }

    /** Reads the secret that each request is signed with. */
    static Auth hmac(String keyId, File secret) throws IOException {
        return hmac(keyId, Base64.getDecoder().decode(line(secret)));
    }

    static Auth hmac(String keyId, byte[] secret) {
        return new Auth(null, keyId, new SecretKeySpec(secret, "HmacSHA256"));
    }

    private static String line(File file) throws IOException {
        return new String(Files.readAllBytes(file.toPath()), StandardCharsets.US_ASCII).trim();
    }

    /** Returns whether requests are signed. */
    public boolean signs() {
        return bearer == null;
    }

    /** Returns the headers that prove who sends a request with these first bytes as its body. */
    public Proof prove(String method, String authority, String path, byte[] body, int length, Trace trace) throws GeneralSecurityException {
        return bearer == null ? signed(method, authority, path, contentDigest(body, length), trace) : carrying();
    }

    /** Returns the headers of a client stream, whose chunks carry codes of their own. */
    public Proof proveStream(String method, String authority, String path, Trace trace) throws GeneralSecurityException {
        return bearer == null ? signed(method, authority, path, null, trace) : carrying();
    }

    private Proof carrying() {
        Proof proof = new Proof(null);
        proof.headers.put("authorization", bearer);
        return proof;
    }

    private Proof signed(String method, String authority, String path, String digest, Trace trace) throws GeneralSecurityException {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        Proof proof = sign(method, authority, path, digest, System.currentTimeMillis() / 1000, nonce);
        trace.stamp(Trace.Phase.SIGNED);
        return proof;
    }

    /** Signs a request. {@code path} has the query; {@code digest} is null for a stream. */
    Proof sign(String method, String authority, String path, String digest, long createdS, byte[] nonce) throws GeneralSecurityException {
        String parameters = "(\"@method\" \"@authority\" \"@path\" \"@query\"" + (digest == null ? "" : " \"content-digest\"")
                + ");created=" + createdS + ";nonce=\"" + Base64.getUrlEncoder().withoutPadding().encodeToString(nonce)
                + "\";alg=\"hmac-sha256\";keyid=\"" + keyId + "\"";
        int question = path.indexOf('?');
        String base = "\"@method\": " + method
                + "\n\"@authority\": " + authority.toLowerCase(Locale.ROOT)
                + "\n\"@path\": " + (question < 0 ? path : path.substring(0, question))
                + "\n\"@query\": " + (question < 0 ? "?" : path.substring(question))
                + (digest == null ? "" : "\n\"content-digest\": " + digest)
                + "\n\"@signature-params\": " + parameters;
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(secret);
        byte[] code = mac.doFinal(base.getBytes(StandardCharsets.US_ASCII));
        Proof proof = new Proof(code);
        if (digest != null) {
            proof.headers.put("content-digest", digest);
        }
        proof.headers.put("signature-input", "commute=" + parameters);
        proof.headers.put("signature", "commute=:" + Base64.getEncoder().encodeToString(code) + ":");
        return proof;
    }

    static String contentDigest(byte[] body, int length) throws GeneralSecurityException {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        sha256.update(body, 0, length);
        return "sha-256=:" + Base64.getEncoder().encodeToString(sha256.digest()) + ":";
    }

    /** What one request carries. */
    public final class Proof {
        /** Names in lower case, and values. */
        public final Map<String, String> headers = new LinkedHashMap<>();
        /** The code of the head or of the chunk before; null if chunks carry none. */
        private byte[] previous;

        private Proof(byte[] code) {
            previous = code;
        }

        /** Returns the code of a stream's next chunk, empty if chunks carry none. */
        public byte[] code(byte[] chunk, boolean last) {
            if (previous == null) {
                return new byte[0];
            }
            try {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(secret);
                mac.update(CHUNK_PURPOSE);
                mac.update(previous);
                mac.update((byte) (last ? 1 : 0));
                previous = mac.doFinal(chunk);
            } catch (GeneralSecurityException impossible) {
                throw new AssertionError(impossible); // the head was signed in the same way
            }
            return Arrays.copyOf(previous, previous.length);
        }
    }
}
