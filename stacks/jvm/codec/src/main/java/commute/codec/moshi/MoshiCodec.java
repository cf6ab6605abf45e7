package commute.codec.moshi;

import com.squareup.moshi.JsonAdapter;
import com.squareup.moshi.JsonDataException;
import com.squareup.moshi.JsonReader;
import com.squareup.moshi.Moshi;
import commute.codec.MessageCodec;
import commute.codec.Utf8;
import java.io.IOException;
import okio.Buffer;

/**
 * Moshi over Okio's buffers, as in an app with OkHttp. The library rejects nesting of 256 levels or
 * more.
 */
public final class MoshiCodec<P> implements MessageCodec.Plain<P> {
    private final StrictAdapterFactory strict = new StrictAdapterFactory();
    private final JsonAdapter<P> adapter;

    @SuppressWarnings("unchecked") // Moshi returns an adapter of the requested type.
    public MoshiCodec(Class<?> type) {
        Moshi moshi = new Moshi.Builder().add(new GeneratedAdapterFactory()).add(strict).build();
        adapter = (JsonAdapter<P>) moshi.adapter(type).serializeNulls();
    }

    @Override
    public byte[] encode(P plain) throws IOException {
        Buffer buffer = new Buffer();
        adapter.toJson(buffer, plain);
        return buffer.readByteArray();
    }

    @Override
    public P decode(byte[] bytes) throws IOException {
        strict.replaced = false;
        JsonReader reader = JsonReader.of(new Buffer().write(bytes));
        P plain = adapter.fromJson(reader);
        if (reader.peek() != JsonReader.Token.END_DOCUMENT) {
            throw new JsonDataException("trailing text after the message");
        }
        if (strict.replaced) {
            Utf8.check(bytes);
        }
        return plain;
    }
}
