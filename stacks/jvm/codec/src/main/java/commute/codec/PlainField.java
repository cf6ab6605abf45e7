package commute.codec;

import commute.codec.plain.SchemaField;
import commute.codec.plain.Unsigned;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A field of a plain class, in the form that value files need. */
final class PlainField {
    private static final Map<Class<?>, PlainField[]> CACHE = new ConcurrentHashMap<>();

    final Field reflected;
    final boolean repeated;
    /** The type of the field, or of its elements if it is repeated. */
    final Class<?> type;
    final boolean unsigned;

    private PlainField(Field field) {
        this.reflected = field;
        repeated = field.getType() == List.class;
        type = repeated ? (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0] : field.getType();
        unsigned = field.isAnnotationPresent(Unsigned.class);
    }

    /** Returns the fields of a message class in the order of their numbers. */
    static PlainField[] of(Class<?> message) {
        return CACHE.computeIfAbsent(message, type -> Arrays.stream(type.getFields())
                .sorted(Comparator.comparingInt(field -> field.getAnnotation(SchemaField.class).number()))
                .map(PlainField::new)
                .toArray(PlainField[]::new));
    }
}
