package commute.codec;

import com.google.gson.JsonObject;
import java.nio.file.Path;

/** What a request is about. */
final class Task {
    final Offer offer;
    final MessageCodec<Object, Object> codec;
    /** Of the plain objects. */
    final Class<?> type;
    private final JsonObject request;

    /** Refuses what this runner has not. */
    Task(JsonObject request) throws Unsupported, ReflectiveOperationException {
        this.request = request;
        offer = Codecs.named(word("codec"), word("library"));
        type = Generated.plain(word("message"));
        codec = offer.of(type);
    }

    static String word(JsonObject request, String key) {
        if (!request.has(key) || !request.get(key).isJsonPrimitive()) {
            throw new IllegalArgumentException("the request has no " + key);
        }
        return request.get(key).getAsString();
    }

    String word(String key) {
        return word(request, key);
    }

    Path file(String key) {
        return Path.of(word(key));
    }

    boolean has(String key) {
        return request.has(key) && !request.get(key).isJsonNull();
    }

    long iterations() {
        return Long.parseLong(word("iterations"));
    }
}
