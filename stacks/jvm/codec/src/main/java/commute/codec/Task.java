package commute.codec;

import com.google.gson.JsonObject;
import java.nio.file.Path;

/** The codec, message and files that a request names. */
final class Task {
    final Offer offer;
    final MessageCodec<Object, Object> codec;
    /** The class of the plain objects. */
    final Class<?> type;
    private final JsonObject request;

    /** Looks up what the request names; throws if this runner does not have it. */
    Task(JsonObject request) throws UnsupportedException, ReflectiveOperationException {
        this.request = request;
        offer = Codecs.find(string("codec"), string("library"));
        type = Generated.plainClass(string("message"));
        codec = offer.codecFor(type);
    }

    static String string(JsonObject request, String key) {
        if (!request.has(key) || !request.get(key).isJsonPrimitive()) {
            throw new IllegalArgumentException("the request has no " + key);
        }
        return request.get(key).getAsString();
    }

    String string(String key) {
        return string(request, key);
    }

    Path file(String key) {
        return Path.of(string(key));
    }

    boolean has(String key) {
        return request.has(key) && !request.get(key).isJsonNull();
    }

    long iterations() {
        return Long.parseLong(string("iterations"));
    }
}
