package commute.driver;

import java.io.IOException;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONException;
import org.json.JSONObject;

/** A request of a study's own. */
public final class Fetch {
    public final String method;
    /** Path and query; over gRPC {@code /package.Service/Method}. */
    public final String path;
    /** By their names in lower case. */
    public final Map<String, String> headers = new TreeMap<>();
    /** The body, over gRPC the encoded message; null if the request has none. */
    public final byte[] body;

    Fetch(JSONObject step, Setup setup) throws IOException, JSONException {
        method = step.getString("method");
        path = step.getString("path");
        body = step.isNull("payload") ? null : setup.payload(step.getString("payload"));
        JSONObject fields = step.optJSONObject("headers");
        if (fields != null) {
            for (Iterator<String> names = fields.keys(); names.hasNext();) {
                String name = names.next();
                headers.put(name, fields.getString(name));
            }
        }
    }

    /** Returns the body, empty if the request has none although its method is one with a body; else null. */
    public byte[] bodyOfMethod() {
        boolean expectsBody = method.equals("POST") || method.equals("PUT") || method.equals("PATCH");
        return body == null && expectsBody ? new byte[0] : body;
    }
}
