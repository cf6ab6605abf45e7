package commute.driver;

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONObject;

/** What one exchange sends and gets back. */
public final class Message {
    private static final Map<String, String> CONTENT_TYPES = new HashMap<>();
    private static final Pattern BY_RULE = Pattern.compile("big-(\\d{1,6})");

    static {
        CONTENT_TYPES.put("json", "application/json");
        CONTENT_TYPES.put("protobuf", "application/protobuf");
        CONTENT_TYPES.put("msgpack", "application/vnd.msgpack");
        CONTENT_TYPES.put("msgpack-array", "application/vnd.msgpack; form=array");
    }

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
        contentType = CONTENT_TYPES.get(form(setup.codec));
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

    /** Whether headers can say that a body is in this codec. They say no level: gzip's is 6. */
    static boolean travels(String codec) {
        return CONTENT_TYPES.containsKey(form(codec)) && !codec.endsWith("+gzip-1");
    }

    /** The codec without its compression. */
    private static String form(String codec) {
        int plus = codec.indexOf('+');
        return plus < 0 ? codec : codec.substring(0, plus);
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
