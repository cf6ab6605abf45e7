package commute.client;

import java.io.IOException;

/** The engine did not do a request, and no server can have acted on it. */
final class EngineUnavailableException extends IOException {
    private static final long serialVersionUID = 1;

    final PlainReason reason;

    EngineUnavailableException(PlainReason reason, String message) {
        super(message);
        this.reason = reason;
    }
}
