package commute.client;

import java.io.IOException;
import java.net.ProtocolException;

/**
 * The engine did not do a request, and no server can have acted on it; or it cannot read the response
 * ({@link PlainReason#MALFORMED_HEAD}), and OkHttp may.
 */
final class EngineUnavailableException extends IOException {
    private static final long serialVersionUID = 1;

    final PlainReason reason;
    /** {@code host:port} of the server whose response is malformed; null otherwise. */
    final String origin;

    EngineUnavailableException(PlainReason reason, String message) {
        this(reason, message, null);
    }

    EngineUnavailableException(PlainReason reason, String message, String origin) {
        super(message);
        this.reason = reason;
        this.origin = origin;
    }

    /** Whether nothing of the request's body has been written, wherever this came from. */
    boolean isBeforeBody() {
        return reason == PlainReason.UPGRADE || reason == PlainReason.CONNECTION_FIELD;
    }

    /** Returns what the app gets if the request is not made plainly. */
    IOException forApp() {
        if (reason != PlainReason.MALFORMED_HEAD) {
            return this;
        }
        ProtocolException failure = new ProtocolException(getMessage());
        failure.initCause(this);
        return failure;
    }
}
