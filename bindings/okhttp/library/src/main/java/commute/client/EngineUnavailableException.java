package commute.client;

import java.io.IOException;
import java.net.ProtocolException;

/**
 * The engine did not do a request, and no server can have acted on it. Or the engine cannot read the response
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

    /** Reports whether nothing of the request's body has been written, wherever this came from. */
    boolean isBeforeBody() {
        return reason == PlainReason.UPGRADE || reason == PlainReason.CONNECTION_FIELD;
    }

    /** Returns the failure of the engine that this is, or that is behind it; null if there is none. */
    static EngineUnavailableException of(IOException failure) {
        Throwable own = failure instanceof EngineUnavailableException ? failure : failure.getCause();
        return own instanceof EngineUnavailableException ? (EngineUnavailableException) own : null;
    }

    /** Returns what listeners and the app see of a malformed response, as with plain OkHttp. */
    ProtocolException asProtocolException() {
        ProtocolException failure = new ProtocolException(getMessage());
        failure.initCause(this);
        return failure;
    }
}
