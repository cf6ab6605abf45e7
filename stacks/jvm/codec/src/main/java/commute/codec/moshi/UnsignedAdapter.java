package commute.codec.moshi;

import com.squareup.moshi.JsonAdapter;
import com.squareup.moshi.JsonReader;
import com.squareup.moshi.JsonWriter;
import java.io.IOException;
import java.math.BigInteger;

/** Takes the long for one from 0 to 2^64 - 1. */
final class UnsignedAdapter extends JsonAdapter<Long> {
    @Override
    public Long fromJson(JsonReader reader) throws IOException {
        StrictAdapters.expect(JsonReader.Token.NUMBER, reader);
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
