package commute.codec;

import commute.codec.plain.Number;
import commute.codec.plain.Unsigned;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A field of a plain class, as value files see it. */
final class Shape {
    private static final Map<Class<?>, Shape[]> KNOWN = new ConcurrentHashMap<>();

    final Field field;
    final boolean repeated;
    /** Of the field, or of its elements. */
    final Class<?> type;
    final boolean unsigned;

    private Shape(Field field) {
        this.field = field;
        repeated = field.getType() == List.class;
        type = repeated ? (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0] : field.getType();
        unsigned = field.isAnnotationPresent(Unsigned.class);
    }

    /** In the order of the fields' numbers. */
    static Shape[] of(Class<?> message) {
        return KNOWN.computeIfAbsent(message, type -> Arrays.stream(type.getFields())
                .sorted(Comparator.comparingInt(field -> field.getAnnotation(Number.class).value()))
                .map(Shape::new)
                .toArray(Shape[]::new));
    }
}
