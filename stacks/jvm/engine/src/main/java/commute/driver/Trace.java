package commute.driver;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * What is seen of one call. The library's threads write to it until it ends; after that it is
 * the engine's, and what still comes in from the library no longer counts.
 */
public final class Trace {
    /** What is stamped, in the protocol's words. */
    public enum Phase {
        DNS("dns_ns"), CONNECT("connect_ns"), TLS("tls_ns"), REQUEST_SENT("request_sent_ns"), FIRST_BYTE("first_byte_ns"),
        /** Of an exchange: the message is made, its bytes are, the last byte of the answer is here. */
        CREATED("created_ns"), ENCODED("encoded_ns"), RECEIVED("received_ns");

        final String field;

        Phase(String field) {
            this.field = field;
        }

        private boolean isOpening() {
            return this == DNS || this == CONNECT || this == TLS;
        }
    }

    final Step step;
    private final Consumer<Trace> over;
    private final long[] stamps = new long[Phase.values().length];
    private long startNs;
    private long endNs;
    private Wire wire;
    private boolean opener;
    private boolean earlyData;
    private int attempts;
    private Integer status;
    private long requestBytes;
    private Supplier<Received> content;
    /** What an exchange's response said; null if it was not decoded. */
    private Object echo;
    private String errorKind;
    private String errorDetail;

    Trace(Step step, Consumer<Trace> over) {
        this.step = step;
        this.over = over;
    }

    /** The application asks for the call: now. */
    synchronized long start() {
        startNs = System.nanoTime();
        return startNs;
    }

    /** It happened now. */
    public void stamp(Phase phase) {
        stamp(phase, System.nanoTime());
    }

    /** It happened then. A phase that happens again counts as of the last time. */
    public synchronized void stamp(Phase phase, long atNs) {
        if (endNs == 0) {
            stamps[phase.ordinal()] = atNs;
        }
    }

    public synchronized boolean has(Phase phase) {
        return stamps[phase.ordinal()] != 0;
    }

    /** When the application asked for the call. */
    public synchronized long startNs() {
        return startNs;
    }

    /** The connection it goes over, and whether it was this call that opened it. */
    public synchronized void carriedBy(Wire wire, boolean opener) {
        if (endNs == 0) {
            this.wire = wire;
            this.opener = opener;
        }
    }

    /** The request begins to be sent. */
    public synchronized void attempt() {
        if (endNs == 0) {
            attempts++;
        }
    }

    public synchronized void earlyData(boolean accepted) {
        if (endNs == 0) {
            earlyData = accepted;
        }
    }

    public synchronized void requestBytes(long bytes) {
        if (endNs == 0) {
            requestBytes = bytes;
        }
    }

    public synchronized void status(int status) {
        if (endNs == 0) {
            this.status = status;
        }
    }

    /** The response came whole; what an exchange still does with it is part of the call. */
    public void ended(Received received) {
        if (step.message == null || isBadStatus()) {
            ended(() -> received);
            return;
        }
        if (!has(Phase.RECEIVED)) {
            stamp(Phase.RECEIVED);
        }
        try {
            Object decoded = step.message.decode(received);
            synchronized (this) {
                echo = decoded;
            }
            ended(() -> received);
        } catch (Exception noMessage) {
            failed("protocol", "the echo cannot be decoded: " + Failure.words(noMessage));
        }
    }

    /** The response came whole. Its content is asked for later, when no call is under way. */
    public void ended(Supplier<Received> content) {
        end(content, null, null);
    }

    /** It failed; what had come until then does not count. */
    public void failed(Throwable failure) {
        end(null, Failure.kind(failure), Failure.words(failure));
    }

    public void failed(String kind, String detail) {
        end(null, kind, detail);
    }

    private synchronized void end(Supplier<Received> content, String kind, String detail) {
        if (endNs != 0) {
            return;
        }
        endNs = System.nanoTime();
        this.content = content;
        errorKind = kind;
        errorDetail = detail;
        over.accept(this);
    }

    synchronized boolean isOver() {
        return endNs != 0;
    }

    /** Why it failed, or null. */
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
            boolean anothers = phase.isOpening() && wire != null && !opener;
            if (has(phase) && !anothers) {
                row.put(phase.field, stamps[phase.ordinal()]);
            }
        }
        row.put("end_ns", endNs);
        row.put("request_bytes", requestBytes);
        row.put("attempts", attempts);
        row.put("early_data", earlyData);
        row.put("connection", wire == null ? 0 : wire.number);
        if (wire != null) {
            row.put("reused", !opener);
            row.put("resumed", wire.resumed);
            if (wire.localPort > 0) {
                row.put("local_port", wire.localPort);
            }
            if (wire.protocol != null) {
                row.put("protocol", wire.protocol);
            }
        }
        if (status != null) {
            row.put("status", status);
        }
        if (content != null) {
            Received received = content.get();
            row.put("response_bytes", received.bytes());
            row.put("digest", received.sha256());
        }
        if (echo != null && error() == null && !step.message.isEchoedBy(echo)) {
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
