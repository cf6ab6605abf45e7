package commute.codec.orgjson;

import org.json.JSONObject;

/** Converts between one kind of plain object and org.json's. */
public interface Tree<P> {
    /** Converts a plain object into a tree. */
    JSONObject populate(P plain);

    /** Converts a tree into a plain object. */
    P convert(JSONObject tree);
}
