package commute.codec.cbor;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import java.io.IOException;
import java.math.BigInteger;

/** Reads and writes longs as unsigned numbers. Jackson's own treat them as signed. */
final class UnsignedLongs {
    private UnsignedLongs() {}

    static final class Serializer extends JsonSerializer<Long> {
        @Override
        public void serialize(Long value, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (value >= 0) {
                out.writeNumber(value);
            } else {
                out.writeNumber(new BigInteger(Long.toUnsignedString(value)));
            }
        }
    }

    static final class Deserializer extends JsonDeserializer<Long> {
        @Override
        public Long deserialize(JsonParser in, DeserializationContext context) throws IOException {
            if (!in.hasToken(JsonToken.VALUE_NUMBER_INT)) {
                throw new IOException("expected a uint64, found " + in.currentToken());
            }
            BigInteger value = in.getBigIntegerValue();
            if (value.signum() < 0 || value.bitLength() > 64) {
                throw new IOException(value + " is not a uint64");
            }
            return value.longValue();
        }
    }
}
