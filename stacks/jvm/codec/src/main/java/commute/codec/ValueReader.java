package commute.codec;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Reads a plain object from the lines of a value file. */
final class ValueReader {
    private final BufferedReader lines;

    ValueReader(BufferedReader lines) {
        this.lines = lines;
    }

    Object message(Class<?> type) throws IOException {
        expect("{");
        try {
            Object message = type.getConstructor().newInstance();
            for (PlainField field : PlainField.of(type)) {
                field.reflected.set(message, field.repeated ? list(field) : value(field));
            }
            expect("}");
            return message;
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private List<Object> list(PlainField field) throws IOException {
        int count = Integer.parseInt(rest("["));
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            elements.add(value(field));
        }
        return elements;
    }

    private Object value(PlainField field) throws IOException {
        Class<?> type = field.type;
        if (type == int.class || type == Integer.class) {
            return Integer.parseInt(rest("i"));
        } else if (type == long.class || type == Long.class) {
            return field.unsigned ? Long.parseUnsignedLong(rest("i")) : Long.parseLong(rest("i"));
        } else if (type == float.class || type == Float.class) {
            return Float.intBitsToFloat(Integer.parseUnsignedInt(rest("f"), 16));
        } else if (type == double.class || type == Double.class) {
            return Double.longBitsToDouble(Long.parseUnsignedLong(rest("d"), 16));
        } else if (type == boolean.class || type == Boolean.class) {
            return rest("b").equals("1");
        } else if (type == String.class) {
            return new String(HexFormat.of().parseHex(rest("s")), StandardCharsets.UTF_8);
        } else if (type == byte[].class) {
            return HexFormat.of().parseHex(rest("x"));
        } else if (type == Void.class) {
            expect("z");
            return null;
        }
        return message(type);
    }

    private String rest(String kind) throws IOException {
        String line = lines.readLine();
        if (line == null || !line.startsWith(kind + " ")) {
            throw new IOException("value file: found " + line + ", expected " + kind);
        }
        return line.substring(kind.length() + 1);
    }

    private void expect(String expected) throws IOException {
        String line = lines.readLine();
        if (!expected.equals(line)) {
            throw new IOException("value file: found " + line + ", expected " + expected);
        }
    }
}
