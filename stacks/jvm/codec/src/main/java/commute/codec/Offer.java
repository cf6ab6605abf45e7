package commute.codec;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** One codec of one library, for any kind of message. */
final class Offer {
    final String codec;
    final String library;
    private final String version;
    private final Set<Part> parts;
    /** Null if there is nothing to say. */
    private final String caveat;
    private final Maker maker;
    private final Map<Class<?>, MessageCodec<Object, Object>> made = new HashMap<>();

    /** Makes a codec for a kind of plain object. */
    interface Maker {
        MessageCodec<?, ?> make(Class<?> type) throws ReflectiveOperationException;
    }

    Offer(String codec, String library, String version, Set<Part> parts, String caveat, Maker maker) {
        this.codec = codec;
        this.library = library;
        this.version = version;
        this.parts = parts;
        this.caveat = caveat;
        this.maker = maker;
    }

    /** The same for the same kind: what it keeps between calls stays. */
    MessageCodec<Object, Object> of(Class<?> type) throws ReflectiveOperationException {
        MessageCodec<Object, Object> known = made.get(type);
        if (known == null) {
            known = make(type);
            made.put(type, known);
        }
        return known;
    }

    /** Another one. */
    @SuppressWarnings("unchecked") // A kind's plain objects, and what their codec made, are all it gets.
    MessageCodec<Object, Object> make(Class<?> type) throws ReflectiveOperationException {
        return (MessageCodec<Object, Object>) maker.make(type);
    }

    /** Whether it goes both ways, and anywhere. */
    boolean carriesMessages() {
        return parts.containsAll(Part.BOTH) && !codec.equals("empty");
    }

    String libraryAndVersion() {
        return library + " " + version;
    }

    /** Refuses a part that does not exist. */
    void require(Part part) throws Unsupported {
        if (!parts.contains(part)) {
            throw new Unsupported("part " + part.word(), codec + " of " + library + " has no such part here");
        }
    }

    JsonObject hello() {
        JsonObject hello = new JsonObject();
        hello.addProperty("codec", codec);
        hello.addProperty("library", library);
        hello.addProperty("library_version", version);
        JsonArray words = new JsonArray();
        parts.forEach(part -> words.add(part.word()));
        hello.add("parts", words);
        if (caveat != null) {
            hello.addProperty("caveat", caveat);
        }
        return hello;
    }
}
