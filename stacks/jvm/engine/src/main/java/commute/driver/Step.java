package commute.driver;

import org.json.JSONException;
import org.json.JSONObject;

/** One step of a run. */
public final class Step {
    public enum Kind { CALL, GET, PUT, STREAM, EXCHANGE, PAUSE, RECONNECT }

    public final long id;
    public final Kind kind;
    /** The JSON text of a call or of each message of a stream. */
    public final String body;
    /** How much to get or put. */
    public final int bytes;
    /** How many messages a stream has. */
    public final int messages;
    /** Of an exchange; else null. */
    public final Message message;
    final long group;
    final long pauseNs;
    final Stack.Reconnect mode;
    /** 0: not at all. */
    final long cancelAfterNs;
    /** Null when it starts after all earlier steps. */
    final JSONObject start;

    Step(JSONObject step, Identity identity, Setup setup) throws Exception {
        id = step.getLong("id");
        group = step.getLong("group");
        kind = kind(step.getString("step"), identity, setup);
        body = kind == Kind.CALL || kind == Kind.STREAM ? step.getString("body") : null;
        bytes = kind == Kind.GET || kind == Kind.PUT ? step.getInt("bytes") : 0;
        messages = kind == Kind.STREAM ? step.getInt("messages") : 0;
        message = kind == Kind.EXCHANGE ? new Message(step, setup) : null;
        pauseNs = kind == Kind.PAUSE ? step.getLong("ns") : 0;
        mode = kind == Kind.RECONNECT ? mode(step.getString("mode"), identity) : null;
        cancelAfterNs = step.optLong("cancel_after_ns", 0);
        start = step.isNull("start") ? null : step.getJSONObject("start");
    }

    /** A small download. */
    static Step get(long id, int bytes) {
        try {
            return new Step(new JSONObject().put("id", id).put("group", 1).put("step", "get").put("bytes", bytes), null, null);
        } catch (Exception impossible) {
            throw new AssertionError(impossible);
        }
    }

    public boolean isCall() {
        return kind != Kind.PAUSE && kind != Kind.RECONNECT;
    }

    private static Kind kind(String word, Identity identity, Setup setup) throws Unsupported {
        switch (word) {
            case "call": return Kind.CALL;
            case "get": return Kind.GET;
            case "put": return Kind.PUT;
            case "pause": return Kind.PAUSE;
            case "reconnect": return Kind.RECONNECT;
            case "stream":
                if (identity.capabilities.contains("stream")) {
                    return Kind.STREAM;
                }
                throw new Unsupported("step stream", identity.stack + " has no messages to stream");
            case "exchange":
                if (setup.messages != null) {
                    return Kind.EXCHANGE;
                }
                throw new Unsupported("step exchange", identity.stack + " is not given codecs here");
            default: throw new Unsupported("step " + word, "this driver does not know it");
        }
    }

    private static Stack.Reconnect mode(String word, Identity identity) throws Unsupported {
        if (word.equals("cold")) {
            return Stack.Reconnect.COLD;
        }
        if ((word.equals("resume") || word.equals("early_data")) && identity.capabilities.contains(word)) {
            return word.equals("resume") ? Stack.Reconnect.RESUME : Stack.Reconnect.EARLY_DATA;
        }
        throw new Unsupported("reconnect " + word, identity.stack + " is not known to do it");
    }
}
