package commute.codec.cbor;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.databind.PropertyName;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.NopAnnotationIntrospector;
import commute.codec.plain.SchemaField;
import commute.codec.plain.Unsigned;

/** Tells Jackson about plain classes what its own annotations would. */
final class PlainFieldIntrospector extends NopAnnotationIntrospector {
    private static final long serialVersionUID = 1;

    @Override
    public Version version() {
        return Version.unknownVersion();
    }

    @Override
    public PropertyName findNameForSerialization(Annotated field) {
        SchemaField annotation = field.getAnnotation(SchemaField.class);
        return annotation == null ? null : PropertyName.construct(annotation.json());
    }

    @Override
    public PropertyName findNameForDeserialization(Annotated field) {
        return findNameForSerialization(field);
    }

    @Override
    public Integer findPropertyIndex(Annotated field) {
        SchemaField annotation = field.getAnnotation(SchemaField.class);
        return annotation == null ? null : annotation.number();
    }

    /** Only the field that is never set may be null. */
    @Override
    public JsonSetter.Value findSetterInfo(Annotated field) {
        boolean never = field.getRawType() == Void.class;
        return never ? JsonSetter.Value.empty() : JsonSetter.Value.construct(Nulls.FAIL, Nulls.FAIL);
    }

    @Override
    public Object findSerializer(Annotated field) {
        return field.hasAnnotation(Unsigned.class) ? UnsignedLongs.Serializer.class : null;
    }

    @Override
    public Object findDeserializer(Annotated field) {
        return field.hasAnnotation(Unsigned.class) ? UnsignedLongs.Deserializer.class : null;
    }
}
