package commute.codec.moshi;

import com.squareup.moshi.JsonAdapter;
import com.squareup.moshi.JsonDataException;
import com.squareup.moshi.JsonReader;
import com.squareup.moshi.JsonWriter;
import com.squareup.moshi.Moshi;
import com.squareup.moshi.Types;
import commute.codec.Utf8;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import java.util.Base64;
import java.util.Set;

/**
 * Makes adapters for scalars that check the JSON type. Moshi's own accept "12" for 12 and 12 for
 * "12".
 */
final class StrictAdapterFactory implements JsonAdapter.Factory {
    /**
     * Whether a string contained U+FFFD, with which Okio replaces invalid UTF-8, since this was
     * last cleared.
     */
    boolean replaced;

    @Override
    public JsonAdapter<?> create(Type type, Set<? extends Annotation> annotations, Moshi moshi) {
        Class<?> raw = Types.getRawType(type);
        if (raw == String.class) {
            return new StringAdapter(moshi.nextAdapter(this, type, annotations));
        }
        if (raw == byte[].class) {
            return new BytesAdapter();
        }
        if (raw == Void.class) {
            return new NullAdapter();
        }
        if (Number.class.isAssignableFrom(raw) || raw.isPrimitive() && raw != boolean.class) {
            return numberAdapter(moshi.nextAdapter(this, type, annotations));
        }
        return null;
    }

    private static <T> JsonAdapter<T> numberAdapter(JsonAdapter<T> lenient) {
        return new JsonAdapter<>() {
            @Override
            public T fromJson(JsonReader reader) throws IOException {
                expect(JsonReader.Token.NUMBER, reader);
                return lenient.fromJson(reader);
            }

            @Override
            public void toJson(JsonWriter writer, T value) throws IOException {
                lenient.toJson(writer, value);
            }
        };
    }

    static void expect(JsonReader.Token expected, JsonReader reader) throws IOException {
        JsonReader.Token token = reader.peek();
        if (token != expected) {
            throw new JsonDataException("expected " + expected + ", found " + token + " at " + reader.getPath());
        }
    }

    private final class StringAdapter extends JsonAdapter<String> {
        private final JsonAdapter<String> lenient;

        StringAdapter(JsonAdapter<String> lenient) {
            this.lenient = lenient;
        }

        @Override
        public String fromJson(JsonReader reader) throws IOException {
            expect(JsonReader.Token.STRING, reader);
            String text = lenient.fromJson(reader);
            if (text.indexOf(Utf8.REPLACEMENT) >= 0) {
                replaced = true;
            }
            return text;
        }

        @Override
        public void toJson(JsonWriter writer, String text) throws IOException {
            lenient.toJson(writer, text);
        }
    }

    /** Moshi itself has no adapter for byte arrays. */
    private static final class BytesAdapter extends JsonAdapter<byte[]> {
        @Override
        public byte[] fromJson(JsonReader reader) throws IOException {
            expect(JsonReader.Token.STRING, reader);
            return Base64.getDecoder().decode(reader.nextString());
        }

        @Override
        public void toJson(JsonWriter writer, byte[] bytes) throws IOException {
            writer.value(Base64.getEncoder().encodeToString(bytes));
        }
    }

    /** For the field that is never set. */
    private static final class NullAdapter extends JsonAdapter<Void> {
        @Override
        public Void fromJson(JsonReader reader) throws IOException {
            return reader.nextNull();
        }

        @Override
        public void toJson(JsonWriter writer, Void nothing) throws IOException {
            writer.nullValue();
        }
    }
}
