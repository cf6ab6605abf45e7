package commute.driver;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONException;
import org.json.JSONObject;

/** What one exchange sends and gets back. */
public final class Message {
    private static final Pattern BY_RULE = Pattern.compile("big-(\\d{1,6})");

    /** As the schema names it. */
    public final String kind;
    public final String contentType;
    /** {@code identity} when the bytes are the codec's own. */
    public final String contentEncoding;
    private final Messages messages;
    private final Messages.Coder coder;
    /** Of a message that each call makes anew; else -1. */
    private final int size;
    /** Null until made. */
    private volatile Object plain;

    Message(JSONObject step, Setup setup) throws Exception {
        messages = setup.messages;
        kind = step.getString("kind");
        coder = messages.coder(setup.codec, kind);
        int plus = setup.codec.indexOf('+');
        contentType = contentType(plus < 0 ? setup.codec : setup.codec.substring(0, plus));
        contentEncoding = plus < 0 ? "identity" : setup.codec.substring(plus + 1, setup.codec.lastIndexOf('-'));
        String name = step.getString("message");
        Matcher byRule = BY_RULE.matcher(name);
        if (kind.equals("Big") && byRule.matches()) {
            size = Integer.parseInt(byRule.group(1));
        } else {
            size = -1;
            plain = setup.value(name, kind);
        }
    }

    private static String contentType(String form) throws JSONException {
        switch (form) {
            case "json": return "application/json";
            case "protobuf": return "application/protobuf";
            case "msgpack": return "application/vnd.msgpack";
            case "msgpack-array": return "application/vnd.msgpack; form=array";
            default: throw new JSONException("no content type is known for " + form);
        }
    }

    public boolean isCompressed() {
        return !contentEncoding.equals("identity");
    }

    /** The request's body: the call's first work. */
    public byte[] encode(Trace trace) throws Exception {
        if (size >= 0) {
            plain = messages.big(size);
            trace.stamp(Trace.Phase.CREATED);
        }
        byte[] bytes = coder.encode(plain);
        trace.stamp(Trace.Phase.ENCODED);
        return bytes;
    }

    /** The response's body, decoded: the call's last work. */
    Object decode(Received received) throws Exception {
        return coder.decode(received.whole());
    }

    boolean isEchoedBy(Object echo) {
        try {
            return messages.same(plain, echo);
        } catch (Exception noMessage) {
            return false;
        }
    }
}
