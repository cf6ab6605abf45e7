package commute.codec.generator;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The messages of a .proto file. Parsed with regular expressions, which suffice for the bench's
 * schema: protoc's descriptors would need the full Protobuf runtime here.
 */
final class Schema {
    private static final Map<String, String> ELEMENTS = Map.of(
            "int32", "int", "int64", "long", "uint64", "long", "float", "float", "double", "double",
            "bool", "boolean", "string", "String", "bytes", "byte[]", "null", "Void");
    private static final Map<String, String> BOXES = Map.of(
            "int", "Integer", "long", "Long", "float", "Float", "double", "Double", "boolean", "Boolean");
    private static final Pattern COMMENT = Pattern.compile("//.*");
    private static final Pattern MESSAGE = Pattern.compile("message (\\w+) \\{(.*?)\\}", Pattern.DOTALL);
    private static final Pattern FIELD =
            Pattern.compile("(repeated |optional )?(\\w+) (\\w+) = (\\d+)( \\[json_name = \"(\\w+)\"\\])?");

    final List<Message> messages = new ArrayList<>();

    static final class Message {
        final String name;
        /** Sorted by number. */
        final List<Field> fields = new ArrayList<>();

        Message(String name) {
            this.name = name;
        }
    }

    /**
     * {@code type} is a Protobuf scalar, a message's name, or {@code null} for the field that is
     * never set.
     */
    record Field(int number, String name, String json, String type, boolean repeated) {
        /** Returns whether the type is a message. */
        boolean isMessage() {
            return Character.isUpperCase(type.charAt(0));
        }

        /** Returns the field's name in Java. */
        String camel() {
            return Schema.camel(name);
        }

        /** Returns the name as in {@code getFirstName}. */
        String pascal() {
            return Character.toUpperCase(camel().charAt(0)) + camel().substring(1);
        }

        /** Returns the Java type of the field, or of one element if it is repeated. */
        String element() {
            return ELEMENTS.getOrDefault(type, type);
        }

        /** Returns the same type, boxed. */
        String boxed() {
            return BOXES.getOrDefault(element(), element());
        }
    }

    static Schema parse(String proto) {
        Schema schema = new Schema();
        Matcher messages = MESSAGE.matcher(COMMENT.matcher(proto).replaceAll(""));
        while (messages.find()) {
            Message message = new Message(messages.group(1));
            for (String field : messages.group(2).split(";")) {
                if (!field.isBlank()) {
                    message.fields.add(field(field.strip()));
                }
            }
            message.fields.sort((one, other) -> Integer.compare(one.number, other.number));
            schema.messages.add(message);
        }
        return schema;
    }

    private static Field field(String text) {
        Matcher field = FIELD.matcher(text);
        if (!field.matches()) {
            throw new IllegalArgumentException("unsupported kind of field: " + text);
        }
        String label = String.valueOf(field.group(1)).strip();
        String name = field.group(3);
        String json = field.group(6) == null ? camel(name) : field.group(6);
        // The only optional one is never set.
        String type = label.equals("optional") ? "null" : field.group(2);
        return new Field(Integer.parseInt(field.group(4)), name, json, type, label.equals("repeated"));
    }

    private static String camel(String name) {
        return Pattern.compile("_(\\w)").matcher(name).replaceAll(letter -> letter.group(1).toUpperCase());
    }
}
