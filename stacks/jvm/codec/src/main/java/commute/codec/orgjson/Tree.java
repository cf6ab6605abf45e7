package commute.codec.orgjson;

import org.json.JSONObject;

/** Between a kind of plain object and org.json's. */
public interface Tree<P> {
    JSONObject populate(P plain);

    P convert(JSONObject tree);
}
