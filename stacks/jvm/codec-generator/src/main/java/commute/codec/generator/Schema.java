package commute.codec.generator;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The messages of a .proto file, of which it knows as much as the bench's uses. */
final class Schema {
    final List<Message> messages = new ArrayList<>();

    static final class Message {
        final String name;
        /** In the order of their numbers. */
        final List<Field> fields = new ArrayList<>();

        Message(String name) {
            this.name = name;
        }
    }

    /** {@code type} is a scalar of Protobuf's, a message's name, or {@code null} for the field never set. */
    record Field(int number, String name, String json, String type, boolean repeated) {
        boolean isMessage() {
            return Character.isUpperCase(type.charAt(0));
        }

        /** The name in Java. */
        String camel() {
            return Schema.camel(name);
        }

        /** As in {@code getFirstName}. */
        String pascal() {
            return Character.toUpperCase(camel().charAt(0)) + camel().substring(1);
        }

        /** The type of one element in Java. */
        String element() {
            return ELEMENTS.getOrDefault(type, type);
        }

        /** The same where only an object will do. */
        String boxed() {
            return BOXES.getOrDefault(element(), element());
        }
    }

    private static final Map<String, String> ELEMENTS = Map.of(
            "int32", "int", "int64", "long", "uint64", "long", "float", "float", "double", "double",
            "bool", "boolean", "string", "String", "bytes", "byte[]", "null", "Void");
    private static final Map<String, String> BOXES = Map.of(
            "int", "Integer", "long", "Long", "float", "Float", "double", "Double", "boolean", "Boolean");
    private static final Pattern COMMENT = Pattern.compile("//.*");
    private static final Pattern MESSAGE = Pattern.compile("message (\\w+) \\{(.*?)\\}", Pattern.DOTALL);
    private static final Pattern FIELD =
            Pattern.compile("(repeated |optional )?(\\w+) (\\w+) = (\\d+)( \\[json_name = \"(\\w+)\"\\])?");

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
            throw new IllegalArgumentException("not a field as the bench's schema has them: " + text);
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
