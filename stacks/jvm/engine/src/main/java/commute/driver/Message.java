package commute.driver;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONObject;

/** The message that one exchange sends and receives, or that one submit sends. */
public final class Message {
    private static final Map<String, String> CONTENT_TYPES = new HashMap<>();
    private static final Pattern BIG = Pattern.compile("big-(\\d{1,6})");

    static {
        CONTENT_TYPES.put("json", "application/json");
        CONTENT_TYPES.put("protobuf", "application/protobuf");
        CONTENT_TYPES.put("msgpack", "application/vnd.msgpack");
        CONTENT_TYPES.put("msgpack-array", "application/vnd.msgpack; form=array");
    }

    /** The message's name in the schema. */
    public final String kind;
    public final String contentType;
    /** {@code identity} if the codec does not compress. */
    public final String contentEncoding;
    private final Messages messages;
    private final Messages.Coder coder;
    /** The size of a message that each call makes; -1 if it is read from a file. */
    private final int size;
    /** Null until the call makes it. */
    private volatile Object plain;

    Message(JSONObject step, Setup setup) throws Exception {
        messages = setup.messages;
        kind = step.getString("kind");
        coder = messages.coder(setup.codec, kind);
        int plus = setup.codec.indexOf('+');
        contentType = CONTENT_TYPES.get(uncompressed(setup.codec));
        contentEncoding = plus < 0 ? "identity" : setup.codec.substring(plus + 1, setup.codec.lastIndexOf('-'));
        String name = step.getString("message");
        Matcher big = BIG.matcher(name);
        if (kind.equals("Big") && big.matches()) {
            size = Integer.parseInt(big.group(1));
        } else {
            size = -1;
            plain = setup.value(name, kind);
        }
    }

    /**
     * Returns whether headers can name this codec. They do not state gzip's level, which is always
     * 6.
     */
    static boolean hasMediaType(String codec) {
        return CONTENT_TYPES.containsKey(uncompressed(codec)) && !codec.endsWith("+gzip-1");
    }

    /** Returns the codec without its compression. */
    private static String uncompressed(String codec) {
        int plus = codec.indexOf('+');
        return plus < 0 ? codec : codec.substring(0, plus);
    }

    /** Returns whether the body is compressed. */
    public boolean isCompressed() {
        return !contentEncoding.equals("identity");
    }

    /** Returns the request's body. Making it is part of the call. */
    public byte[] encode(Trace trace) throws Exception {
        if (size >= 0) {
            plain = messages.makeBig(size);
            trace.stamp(Trace.Phase.CREATED);
        }
        byte[] bytes = coder.encode(plain);
        trace.stamp(Trace.Phase.ENCODED);
        return bytes;
    }

    /** Returns the request's body in parts, with at most that many bytes of the payload in each. */
    public List<byte[]> encodeParts(Trace trace, int chunkBytes) throws Exception {
        List<byte[]> parts = new ArrayList<>();
        for (Object part : messages.parts(plain, chunkBytes)) {
            parts.add(coder.encode(part));
        }
        trace.stamp(Trace.Phase.ENCODED);
        return parts;
    }

    /** Decodes the response's body, which is part of the call. */
    Object decode(ReceivedBody received) throws Exception {
        return coder.decode(received.toByteArray());
    }

    /** Returns whether the decoded response equals the message sent. */
    boolean matches(Object response) {
        try {
            return messages.equal(plain, response);
        } catch (Exception notAMessage) {
            return false;
        }
    }
}
