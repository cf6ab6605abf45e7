package commute.driver;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Records the events of one call. The library's threads write to it until it ends. After that it
 * belongs to the engine, and late events are ignored.
 */
public final class Trace {
    /** The phases of a call, with their fields in a row. */
    public enum Phase {
        DNS("dns_ns"), CONNECT("connect_ns"), TLS("tls_ns"), REQUEST_SENT("request_sent_ns"), FIRST_BYTE("first_byte_ns"),
        /**
         * For exchanges: the message was made; its bytes are ready; the request is signed; the answer's
         * last byte arrived.
         */
        CREATED("created_ns"), ENCODED("encoded_ns"), SIGNED("signed_ns"), RECEIVED("received_ns");

        final String field;

        Phase(String field) {
            this.field = field;
        }

        private boolean isOfConnection() {
            return this == DNS || this == CONNECT || this == TLS;
        }
    }

    final Step step;
    private final Consumer<Trace> onEnd;
    private final long[] stamps = new long[Phase.values().length];
    private long startNs;
    private long endNs;
    private ConnectionInfo connection;
    private boolean opener;
    private boolean earlyData;
    private int attempts;
    private Integer status;
    private long requestBytes;
    private Supplier<ReceivedBody> content;
    /** The decoded message of an exchange's response; null if not decoded. */
    private Object response;
    private String errorKind;
    private String errorDetail;

    Trace(Step step, Consumer<Trace> onEnd) {
        this.step = step;
        this.onEnd = onEnd;
    }

    /** Stamps the start, when the application requests the call. */
    synchronized long start() {
        startNs = System.nanoTime();
        return startNs;
    }

    /** Stamps a phase with the present time. */
    public void stamp(Phase phase) {
        stamp(phase, System.nanoTime());
    }

    /** Stamps a phase with a time in ns of System.nanoTime. Only the last stamp of a phase counts. */
    public synchronized void stamp(Phase phase, long atNs) {
        if (endNs == 0) {
            stamps[phase.ordinal()] = atNs;
        }
    }

    /** Returns whether the phase has a stamp. */
    public synchronized boolean isStamped(Phase phase) {
        return stamps[phase.ordinal()] != 0;
    }

    /** Returns when the application requested the call. */
    public synchronized long startNs() {
        return startNs;
    }

    /** Sets the call's connection, and whether this call opened it. */
    public synchronized void useConnection(ConnectionInfo connection, boolean opener) {
        if (endNs == 0) {
            this.connection = connection;
            this.opener = opener;
        }
    }

    /** Counts an attempt to send the request. */
    public synchronized void countAttempt() {
        if (endNs == 0) {
            attempts++;
        }
    }

    /** Sets whether the request went as early data that was accepted. */
    public synchronized void earlyData(boolean accepted) {
        if (endNs == 0) {
            earlyData = accepted;
        }
    }

    /** Sets the size of the request's body. */
    public synchronized void requestBytes(long bytes) {
        if (endNs == 0) {
            requestBytes = bytes;
        }
    }

    /** Sets the status that the server sent. */
    public synchronized void status(int status) {
        if (endNs == 0) {
            this.status = status;
        }
    }

    /** Ends the call with a complete response. For an exchange, decoding it is part of the call. */
    public void complete(ReceivedBody received) {
        if (step.kind != Step.Kind.EXCHANGE || isBadStatus()) {
            complete(() -> received);
            return;
        }
        if (!isStamped(Phase.RECEIVED)) {
            stamp(Phase.RECEIVED);
        }
        try {
            Object decoded = step.message.decode(received);
            synchronized (this) {
                response = decoded;
            }
            complete(() -> received);
        } catch (Exception notAMessage) {
            fail("protocol", "the echo cannot be decoded: " + ErrorClassifier.describe(notAMessage));
        }
    }

    /**
     * Ends the call with a complete response. Its content is requested later, when no call is in
     * flight.
     */
    public void complete(Supplier<ReceivedBody> content) {
        end(content, null, null);
    }

    /** Ends the call with an error. Whatever was received does not count. */
    public void fail(Throwable failure) {
        end(null, ErrorClassifier.classify(failure), ErrorClassifier.describe(failure));
    }

    /** Ends the call with an error of that kind. */
    public void fail(String kind, String detail) {
        end(null, kind, detail);
    }

    private synchronized void end(Supplier<ReceivedBody> content, String kind, String detail) {
        if (endNs != 0) {
            return;
        }
        endNs = System.nanoTime();
        this.content = content;
        errorKind = kind;
        errorDetail = detail;
        onEnd.accept(this);
    }

    /** Returns why the call failed, or null. */
    synchronized String error() {
        return errorKind == null && isBadStatus() ? "status " + status : errorDetail;
    }

    private synchronized boolean isBadStatus() {
        return status != null && status >= 400;
    }

    synchronized JSONObject row() throws JSONException {
        Map<String, Object> row = new TreeMap<>();
        row.put("type", "row");
        row.put("id", step.id);
        row.put("start_ns", startNs);
        for (Phase phase : Phase.values()) {
            boolean belongsToOpener = phase.isOfConnection() && connection != null && !opener;
            if (isStamped(phase) && !belongsToOpener) {
                row.put(phase.field, stamps[phase.ordinal()]);
            }
        }
        row.put("end_ns", endNs);
        row.put("request_bytes", requestBytes);
        row.put("attempts", attempts);
        row.put("early_data", earlyData);
        row.put("connection", connection == null ? 0 : connection.number);
        if (connection != null) {
            row.put("reused", !opener);
            row.put("resumed", connection.resumed);
            if (connection.localPort > 0) {
                row.put("local_port", connection.localPort);
            }
            if (connection.protocol != null) {
                row.put("protocol", connection.protocol);
            }
        }
        if (status != null) {
            row.put("status", status);
        }
        if (content != null) {
            ReceivedBody received = content.get();
            row.put("response_bytes", received.bytes());
            row.put("digest", received.sha256());
        }
        if (response != null && error() == null && !step.message.matches(response)) {
            errorKind = "protocol";
            errorDetail = "the echo differs";
        }
        if (error() != null) {
            JSONObject error = new JSONObject();
            error.put("kind", errorKind == null ? "status" : errorKind).put("detail", error());
            row.put("error", error);
        }
        return new JSONObject(row);
    }
}
