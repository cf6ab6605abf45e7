package commute.driver;

import java.io.EOFException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ProtocolException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.security.cert.CertificateException;
import java.util.Locale;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** Maps a library's exception to the protocol's kind and detail. */
public final class ErrorClassifier {
    /** A row is one line of bounded length. */
    private static final int MAX_CHARS = 1000;

    private ErrorClassifier() {}

    /**
     * Returns one of the protocol's error kinds. Where libraries wrap exceptions, the causes
     * decide.
     */
    public static String classify(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String kind = kindOf(cause);
            if (kind != null) {
                return kind;
            }
        }
        return "other";
    }

    private static String kindOf(Throwable failure) {
        String message = String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT);
        if (failure instanceof UnknownHostException) {
            return "dns";
        }
        if (failure instanceof ConnectException || failure instanceof NoRouteToHostException) {
            return "connect";
        }
        if (failure instanceof SSLPeerUnverifiedException || failure instanceof CertificateException) {
            return "tls";
        }
        // Both a connection broken under TLS and an alert are reported as SSLException.
        if (failure instanceof SSLException) {
            boolean broken = message.contains("connection reset") || message.contains("broken pipe")
                    || message.contains("connection closed") || message.contains("closed connection")
                    || message.contains("socket closed") || message.contains("close_notify");
            boolean inHandshake = failure instanceof SSLHandshakeException && !message.contains("terminated");
            return broken && !inHandshake ? "reset" : "tls";
        }
        if (failure instanceof ProtocolException) {
            return message.contains("unexpected end of stream") ? "reset" : "protocol";
        }
        if (failure instanceof SocketException || failure instanceof EOFException || failure instanceof ClosedChannelException) {
            return "reset";
        }
        return message.contains("unexpected end of stream") ? "reset" : null;
    }

    /** Returns the exception's message and those of its causes. */
    public static String describe(Throwable failure) {
        StringBuilder description = new StringBuilder(String.valueOf(failure));
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            // Many libraries repeat the cause in their own message.
            if (description.indexOf(message) < 0) {
                description.append(": ").append(message);
            }
        }
        return description.length() > MAX_CHARS ? description.substring(0, MAX_CHARS) : description.toString();
    }
}
