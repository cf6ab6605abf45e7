package commute.codec.orgjson;

import commute.codec.Generated;
import commute.codec.MessageCodec;
import commute.codec.Utf8;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.json.JSONObject;

/** org.json, whose API Android ships. It limits nesting only by catching stack overflows. */
public final class OrgJsonCodec<P> implements MessageCodec<P, JSONObject> {
    private final Tree<P> tree;

    @SuppressWarnings("unchecked") // The generated class is of this type.
    public OrgJsonCodec(Class<?> type) throws ReflectiveOperationException {
        tree = (Tree<P>) Generated.libraryClass("commute.codec.orgjson", type, "Tree").getConstructor().newInstance();
    }

    @Override
    public JSONObject populate(P plain) {
        return tree.populate(plain);
    }

    @Override
    public byte[] encode(JSONObject object) {
        return object.toString().getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public JSONObject decode(byte[] bytes) throws IOException {
        String text = new String(bytes, StandardCharsets.UTF_8);
        if (text.indexOf(Utf8.REPLACEMENT) >= 0) {
            Utf8.check(bytes);
        }
        return new JSONObject(text);
    }

    @Override
    public P convert(JSONObject object) {
        return tree.convert(object);
    }
}
