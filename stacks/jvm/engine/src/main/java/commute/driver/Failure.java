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

/** A library's exception in the protocol's words. */
public final class Failure {
    private Failure() {}

    /** One of the protocol's kinds of error. The causes decide where libraries wrap. */
    public static String kind(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String kind = kindOfOne(cause);
            if (kind != null) {
                return kind;
            }
        }
        return "other";
    }

    private static String kindOfOne(Throwable failure) {
        String words = String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT);
        if (failure instanceof UnknownHostException) {
            return "dns";
        }
        if (failure instanceof ConnectException || failure instanceof NoRouteToHostException) {
            return "connect";
        }
        if (failure instanceof SSLPeerUnverifiedException || failure instanceof CertificateException) {
            return "tls";
        }
        // A connection that breaks under TLS comes as an SSLException; an alert does too.
        if (failure instanceof SSLException) {
            boolean broken = words.contains("connection reset") || words.contains("broken pipe")
                    || words.contains("connection closed") || words.contains("closed connection")
                    || words.contains("socket closed") || words.contains("close_notify");
            boolean inHandshake = failure instanceof SSLHandshakeException && !words.contains("terminated");
            return broken && !inHandshake ? "reset" : "tls";
        }
        if (failure instanceof ProtocolException) {
            return words.contains("unexpected end of stream") ? "reset" : "protocol";
        }
        if (failure instanceof SocketException || failure instanceof EOFException || failure instanceof ClosedChannelException) {
            return "reset";
        }
        return words.contains("unexpected end of stream") ? "reset" : null;
    }

    /** The library's words and those of its causes. */
    public static String words(Throwable failure) {
        StringBuilder words = new StringBuilder(String.valueOf(failure));
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            String more = String.valueOf(cause.getMessage());
            // Many libraries repeat their cause in their own message.
            if (words.indexOf(more) < 0) {
                words.append(": ").append(more);
            }
        }
        // A row is one line of bounded length.
        return words.length() > 1000 ? words.substring(0, 1000) : words.toString();
    }
}
