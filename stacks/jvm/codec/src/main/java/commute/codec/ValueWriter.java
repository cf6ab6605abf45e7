package commute.codec;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.HexFormat;
import java.util.List;

/** Writes plain objects as the lines of a value file. */
final class ValueWriter {
    private final StringBuilder out = new StringBuilder();

    private ValueWriter() {}

    /** Refuses strings that are no text. */
    static String text(Object message) throws CharacterCodingException {
        ValueWriter writer = new ValueWriter();
        writer.message(message);
        return writer.out.toString();
    }

    private void message(Object message) throws CharacterCodingException {
        out.append("{\n");
        try {
            for (Shape shape : Shape.of(message.getClass())) {
                Object value = shape.field.get(message);
                if (shape.repeated) {
                    List<?> elements = (List<?>) value;
                    out.append("[ ").append(elements.size()).append('\n');
                    for (Object element : elements) {
                        one(shape, element);
                    }
                } else {
                    one(shape, value);
                }
            }
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
        out.append("}\n");
    }

    private void one(Shape shape, Object value) throws CharacterCodingException, ReflectiveOperationException {
        if (value instanceof Integer) {
            out.append("i ").append(value);
        } else if (value instanceof Long) {
            out.append("i ").append(shape.unsigned ? Long.toUnsignedString((Long) value) : value);
        } else if (value instanceof Float) {
            out.append("f ").append(HexFormat.of().toHexDigits(Float.floatToRawIntBits((Float) value)));
        } else if (value instanceof Double) {
            out.append("d ").append(HexFormat.of().toHexDigits(Double.doubleToRawLongBits((Double) value)));
        } else if (value instanceof Boolean) {
            out.append("b ").append((Boolean) value ? 1 : 0);
        } else if (value instanceof String) {
            ByteBuffer text = Utf8.of((String) value);
            out.append("s ").append(HexFormat.of().formatHex(text.array(), 0, text.limit()));
        } else if (value instanceof byte[]) {
            out.append("x ").append(HexFormat.of().formatHex((byte[]) value));
        } else if (shape.type == Void.class) {
            out.append('z');
        } else {
            // A message that was not there has every default.
            message(value == null ? shape.type.getConstructor().newInstance() : value);
            return;
        }
        out.append('\n');
    }
}
