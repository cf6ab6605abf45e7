package commute.codec.generator;

import java.util.Map;

/**
 * The code that both MessagePack templates share. msgpack-core has no generator or data binding of
 * its own.
 */
final class MessagePackFields {
    private static final Map<String, String> METHOD_SUFFIXES = Map.of(
            "int32", "Int", "int64", "Long", "float", "Float", "double", "Double", "bool", "Boolean", "string", "String");

    private final Source out;
    private final String suffix;

    MessagePackFields(Source out, String suffix) {
        this.out = out;
        this.suffix = suffix;
    }

    void open(Schema.Message message) {
        out.line("import commute.codec.plain.*;");
        out.line("import java.io.IOException;");
        out.line("import org.msgpack.core.MessagePacker;");
        out.line("");
        out.line("public final class " + message.name + suffix + " implements Packing<" + message.name + "> {");
        out.line("@Override");
        out.line("public void pack(MessagePacker packer, " + message.name + " plain) throws IOException {");
        out.line("write(packer, plain);");
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public " + message.name + " unpack(CheckedUnpacker in) throws IOException {");
        out.line("return read(in);");
        out.line("}");
        out.line("");
        out.line("static void write(MessagePacker packer, " + message.name + " plain) throws IOException {");
    }

    /** Ends the method that writes and starts the one that reads. */
    void startReading(Schema.Message message) {
        out.line("}");
        out.line("");
        out.line("static " + message.name + " read(CheckedUnpacker in) throws IOException {");
        out.line(message.name + " plain = new " + message.name + "();");
    }

    void close() {
        out.line("return plain;");
        out.line("}");
        out.line("}");
    }

    void pack(Schema.Field field) {
        String value = "plain." + field.camel();
        if (field.repeated()) {
            out.line("packer.packArrayHeader(" + value + ".size());");
            out.line("for (" + field.boxed() + " element : " + value + ") {");
            packOne(field, "element");
            out.line("}");
        } else {
            packOne(field, value);
        }
    }

    void unpack(Schema.Field field) {
        String target = "plain." + field.camel();
        if (field.repeated()) {
            String count = field.camel() + "Count";
            out.line("int " + count + " = in.unpacker.unpackArrayHeader();");
            out.line(target + " = in.newList(" + count + ");");
            out.line("for (int i = 0; i < " + count + "; i++) {");
            out.line(target + ".add(" + read(field) + ");");
            out.line("}");
        } else if (field.type().equals("null")) {
            out.line("in.unpacker.unpackNil();");
        } else {
            out.line(target + " = " + read(field) + ";");
        }
    }

    private void packOne(Schema.Field field, String value) {
        if (field.isMessage()) {
            out.line(field.type() + suffix + ".write(packer, " + value + ");");
            return;
        }
        switch (field.type()) {
            case "null": out.line("packer.packNil();"); break;
            case "uint64": out.line("Packing.packUnsigned(packer, " + value + ");"); break;
            case "bytes":
                out.line("packer.packBinaryHeader(" + value + ".length);");
                out.line("packer.writePayload(" + value + ");");
                break;
            default: out.line("packer.pack" + METHOD_SUFFIXES.get(field.type()) + "(" + value + ");");
        }
    }

    private String read(Schema.Field field) {
        if (field.isMessage()) {
            return field.type() + suffix + ".read(in)";
        }
        switch (field.type()) {
            case "uint64": return "in.unpackUnsigned()";
            case "bytes": return "in.unpackBytes()";
            case "string": return "in.unpackString()";
            default: return "in.unpacker.unpack" + METHOD_SUFFIXES.get(field.type()) + "()";
        }
    }
}
