package commute.codec;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** One library's implementation of a codec, for any kind of message. */
final class Offer {
    final String codec;
    final String library;
    private final String version;
    private final Set<Part> parts;
    /** What every result must say; null if nothing. */
    private final String caveat;
    private final Factory factory;
    private final Map<Class<?>, MessageCodec<Object, Object>> codecs = new HashMap<>();

    /** Makes a codec for a kind of plain object. */
    interface Factory {
        MessageCodec<?, ?> make(Class<?> type) throws ReflectiveOperationException;
    }

    Offer(String codec, String library, String version, Set<Part> parts, String caveat, Factory factory) {
        this.codec = codec;
        this.library = library;
        this.version = version;
        this.parts = parts;
        this.caveat = caveat;
        this.factory = factory;
    }

    /**
     * Returns the codec for that type, always the same one, so that it keeps its state between
     * calls.
     */
    MessageCodec<Object, Object> codecFor(Class<?> type) throws ReflectiveOperationException {
        MessageCodec<Object, Object> known = codecs.get(type);
        if (known == null) {
            known = make(type);
            codecs.put(type, known);
        }
        return known;
    }

    /** Makes another codec for that type. */
    @SuppressWarnings("unchecked") // It gets only plain objects of that type, and its own objects.
    MessageCodec<Object, Object> make(Class<?> type) throws ReflectiveOperationException {
        return (MessageCodec<Object, Object>) factory.make(type);
    }

    /** Returns whether an exchange can use the codec: it encodes, decodes and has content. */
    boolean supportsExchange() {
        return parts.containsAll(Part.ENCODE_DECODE) && !codec.equals("empty");
    }

    String libraryAndVersion() {
        return library + " " + version;
    }

    /** Throws if the codec does not have that part. */
    void require(Part part) throws UnsupportedException {
        if (!parts.contains(part)) {
            throw new UnsupportedException("part " + part.protocolName(), library + " has no such part");
        }
    }

    JsonObject toJson() {
        JsonObject json = new JsonObject();
        json.addProperty("codec", codec);
        json.addProperty("library", library);
        json.addProperty("library_version", version);
        JsonArray partNames = new JsonArray();
        parts.forEach(part -> partNames.add(part.protocolName()));
        json.add("parts", partNames);
        if (caveat != null) {
            json.addProperty("caveat", caveat);
        }
        return json;
    }
}
