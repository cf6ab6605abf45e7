package commute.codec;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.HexFormat;
import java.util.List;

/** Writes a plain object as the lines of a value file. */
final class ValueWriter {
    private final StringBuilder out = new StringBuilder();

    private ValueWriter() {}

    /** Returns the lines; throws on strings that cannot be encoded as UTF-8. */
    static String text(Object message) throws CharacterCodingException {
        ValueWriter writer = new ValueWriter();
        writer.message(message);
        return writer.out.toString();
    }

    private void message(Object message) throws CharacterCodingException {
        out.append("{\n");
        try {
            for (PlainField field : PlainField.of(message.getClass())) {
                Object value = field.reflected.get(message);
                if (field.repeated) {
                    List<?> elements = (List<?>) value;
                    out.append("[ ").append(elements.size()).append('\n');
                    for (Object element : elements) {
                        value(field, element);
                    }
                } else {
                    value(field, value);
                }
            }
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
        out.append("}\n");
    }

    private void value(PlainField field, Object value) throws CharacterCodingException, ReflectiveOperationException {
        if (value instanceof Integer) {
            out.append("i ").append(value);
        } else if (value instanceof Long) {
            out.append("i ").append(field.unsigned ? Long.toUnsignedString((Long) value) : value);
        } else if (value instanceof Float) {
            out.append("f ").append(HexFormat.of().toHexDigits(Float.floatToRawIntBits((Float) value)));
        } else if (value instanceof Double) {
            out.append("d ").append(HexFormat.of().toHexDigits(Double.doubleToRawLongBits((Double) value)));
        } else if (value instanceof Boolean) {
            out.append("b ").append((Boolean) value ? 1 : 0);
        } else if (value instanceof String) {
            ByteBuffer text = Utf8.encode((String) value);
            out.append("s ").append(HexFormat.of().formatHex(text.array(), 0, text.limit()));
        } else if (value instanceof byte[]) {
            out.append("x ").append(HexFormat.of().formatHex((byte[]) value));
        } else if (field.type == Void.class) {
            out.append('z');
        } else {
            // An absent message has all default values.
            message(value == null ? field.type.getConstructor().newInstance() : value);
            return;
        }
        out.append('\n');
    }
}
