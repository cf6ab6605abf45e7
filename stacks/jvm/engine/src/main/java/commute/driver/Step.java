package commute.driver;

import org.json.JSONException;
import org.json.JSONObject;

/** One step of a run. Fields that the step's kind does not have are 0 or null. */
public final class Step {
    /** The protocol's kinds of step. */
    public enum Kind { CALL, GET, PUT, STREAM, EXCHANGE, SUBMIT, FETCH, PAUSE, RECONNECT }

    public final long id;
    public final Kind kind;
    /** The JSON text of a call, or of each message of a stream. */
    public final String body;
    /** The size of a get's or put's body. */
    public final int bytes;
    /** The number of messages in a stream. */
    public final int messages;
    /** The message of an exchange or a submit. */
    public final Message message;
    /** The request of a fetch. */
    public final Fetch fetch;
    /** Of a submit: the most bytes of its payload in each part; 0: one message. */
    public final int chunkBytes;
    /** The name of the call's origin in the setup; null: the setup's URL. */
    public final String origin;
    final long group;
    final long pauseNs;
    final Stack.Reconnect mode;
    /** 0: never. */
    final long cancelAfterNs;
    /** The start rule; null if the step starts after all earlier ones. */
    final JSONObject start;
    /** The step that the limit counts from; 0: the start of the run; -1: no limit. */
    final long limitAfter;
    /** How long after that it is too late to start this step. */
    final long limitNs;

    Step(JSONObject step, StackInfo info, Setup setup) throws Exception {
        id = step.getLong("id");
        group = step.getLong("group");
        kind = kind(step.getString("step"), info, setup);
        body = kind == Kind.CALL || kind == Kind.STREAM ? step.getString("body") : null;
        bytes = kind == Kind.GET || kind == Kind.PUT ? step.getInt("bytes") : 0;
        messages = kind == Kind.STREAM ? step.getInt("messages") : 0;
        message = kind == Kind.EXCHANGE || kind == Kind.SUBMIT ? new Message(step, setup) : null;
        fetch = kind == Kind.FETCH ? new Fetch(step, setup) : null;
        chunkBytes = kind == Kind.SUBMIT ? step.optInt("chunk_bytes", 0) : 0;
        if (chunkBytes > 0 && !info.protocols.contains("grpc")) {
            throw new UnsupportedRequestException("step submit", "only gRPC sends a message in parts");
        }
        origin = step.isNull("origin") ? null : step.getString("origin");
        if (origin != null && !setup.origins.containsKey(origin)) {
            throw new JSONException("setup has no origin \"" + origin + "\"");
        }
        pauseNs = kind == Kind.PAUSE ? step.getLong("ns") : 0;
        mode = kind == Kind.RECONNECT ? mode(step.getString("mode"), info) : null;
        cancelAfterNs = step.optLong("cancel_after_ns", 0);
        start = step.isNull("start") ? null : step.getJSONObject("start");
        JSONObject until = step.optJSONObject("until");
        limitAfter = until == null ? -1 : until.getLong("after");
        limitNs = until == null ? 0 : until.getLong("ns");
    }

    /** Makes a download. */
    static Step get(long id, int bytes) {
        try {
            return new Step(new JSONObject().put("id", id).put("group", 1).put("step", "get").put("bytes", bytes), null, null);
        } catch (Exception impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** Returns whether the step makes a call, and so a row. */
    public boolean isCall() {
        return kind != Kind.PAUSE && kind != Kind.RECONNECT;
    }

    boolean hasLimit() {
        return limitAfter >= 0;
    }

    private static Kind kind(String name, StackInfo info, Setup setup) throws UnsupportedRequestException {
        switch (name) {
            case "call": return Kind.CALL;
            case "get": return Kind.GET;
            case "put": return Kind.PUT;
            case "pause": return Kind.PAUSE;
            case "reconnect": return Kind.RECONNECT;
            case "stream":
                if (setup.auth != null && setup.auth.signs()) {
                    throw new UnsupportedRequestException("step stream", "a bidirectional stream cannot be signed");
                }
                if (info.capabilities.contains("stream")) {
                    return Kind.STREAM;
                }
                throw new UnsupportedRequestException("step stream", info.stack + " does not stream messages");
            case "exchange":
                if (setup.messages != null) {
                    return Kind.EXCHANGE;
                }
                throw new UnsupportedRequestException("step exchange", "this driver has no codecs");
            case "fetch":
                if (info.capabilities.contains("fetch")) {
                    return Kind.FETCH;
                }
                throw new UnsupportedRequestException("step fetch", "this driver does not make requests of a study's own over " + info.stack);
            case "submit":
                if (setup.messages != null && info.capabilities.contains("submit")) {
                    return Kind.SUBMIT;
                }
                throw new UnsupportedRequestException("step submit", "this driver does not submit messages over " + info.stack);
            default: throw new UnsupportedRequestException("step " + name, "unknown to this driver");
        }
    }

    private static Stack.Reconnect mode(String name, StackInfo info) throws UnsupportedRequestException {
        if (name.equals("cold")) {
            return Stack.Reconnect.COLD;
        }
        if ((name.equals("resume") || name.equals("early_data")) && info.capabilities.contains(name)) {
            return name.equals("resume") ? Stack.Reconnect.RESUME : Stack.Reconnect.EARLY_DATA;
        }
        throw new UnsupportedRequestException("reconnect " + name, "not among the capabilities of " + info.stack);
    }
}
