package commute.codec.cbor;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.type.LogicalType;
import com.fasterxml.jackson.dataformat.cbor.databind.CBORMapper;
import commute.codec.MessageCodec;
import java.io.IOException;

/**
 * Jackson's data binding over its CBOR format. The library rejects nesting of 1000 levels or more.
 */
public final class CborCodec<P> implements MessageCodec.Plain<P> {
    private final ObjectWriter writer;
    private final ObjectReader reader;

    public CborCodec(Class<?> type) {
        CBORMapper mapper = CBORMapper.builder()
                .annotationIntrospector(new PlainFieldIntrospector())
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                // The following reject wrong types.
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .withCoercionConfig(LogicalType.Textual, config -> {
                    config.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail);
                    config.setCoercion(CoercionInputShape.Float, CoercionAction.Fail);
                    config.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail);
                    config.setCoercion(CoercionInputShape.Binary, CoercionAction.Fail);
                })
                .build();
        writer = mapper.writerFor(type);
        reader = mapper.readerFor(type);
    }

    @Override
    public byte[] encode(P plain) throws IOException {
        return writer.writeValueAsBytes(plain);
    }

    @Override
    public P decode(byte[] bytes) throws IOException {
        P plain = reader.readValue(bytes);
        if (plain == null) {
            throw new IOException("null instead of a message");
        }
        return plain;
    }
}
