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

/** Moshi's adapters of single values, which alone would take "12" for 12 and 12 for "12". */
final class StrictAdapters implements JsonAdapter.Factory {
    /** Whether a string had U+FFFD since this was last false: Okio puts it for what is no UTF-8. */
    boolean replaced;

    @Override
    public JsonAdapter<?> create(Type type, Set<? extends Annotation> annotations, Moshi moshi) {
        Class<?> raw = Types.getRawType(type);
        if (raw == String.class) {
            return new Text(moshi.nextAdapter(this, type, annotations));
        }
        if (raw == byte[].class) {
            return new Bytes();
        }
        if (raw == Void.class) {
            return new Never();
        }
        if (Number.class.isAssignableFrom(raw) || raw.isPrimitive() && raw != boolean.class) {
            return numbers(moshi.nextAdapter(this, type, annotations));
        }
        return null;
    }

    private static <T> JsonAdapter<T> numbers(JsonAdapter<T> lax) {
        return new JsonAdapter<>() {
            @Override
            public T fromJson(JsonReader reader) throws IOException {
                expect(JsonReader.Token.NUMBER, reader);
                return lax.fromJson(reader);
            }

            @Override
            public void toJson(JsonWriter writer, T value) throws IOException {
                lax.toJson(writer, value);
            }
        };
    }

    static void expect(JsonReader.Token due, JsonReader reader) throws IOException {
        JsonReader.Token token = reader.peek();
        if (token != due) {
            throw new JsonDataException("a " + token + " where a " + due + " is due at " + reader.getPath());
        }
    }

    private final class Text extends JsonAdapter<String> {
        private final JsonAdapter<String> lax;

        Text(JsonAdapter<String> lax) {
            this.lax = lax;
        }

        @Override
        public String fromJson(JsonReader reader) throws IOException {
            expect(JsonReader.Token.STRING, reader);
            String text = lax.fromJson(reader);
            if (text.indexOf(Utf8.REPLACEMENT) >= 0) {
                replaced = true;
            }
            return text;
        }

        @Override
        public void toJson(JsonWriter writer, String text) throws IOException {
            lax.toJson(writer, text);
        }
    }

    /** Moshi has none of its own. */
    private static final class Bytes extends JsonAdapter<byte[]> {
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

    /** Of the field that is never set. */
    private static final class Never extends JsonAdapter<Void> {
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
