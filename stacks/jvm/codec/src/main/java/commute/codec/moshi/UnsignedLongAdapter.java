package commute.codec.moshi;

import com.squareup.moshi.JsonAdapter;
import com.squareup.moshi.JsonReader;
import com.squareup.moshi.JsonWriter;
import java.io.IOException;
import java.math.BigInteger;

/** Reads and writes a long as an unsigned number, which Moshi itself does not. */
final class UnsignedLongAdapter extends JsonAdapter<Long> {
    @Override
    public Long fromJson(JsonReader reader) throws IOException {
        StrictAdapterFactory.expect(JsonReader.Token.NUMBER, reader);
        return Long.parseUnsignedLong(reader.nextString());
    }

    @Override
    public void toJson(JsonWriter writer, Long value) throws IOException {
        if (value >= 0) {
            writer.value((long) value);
        } else {
            writer.value(new BigInteger(Long.toUnsignedString(value)));
        }
    }
}
