package commute.codec.generator;

/** The classes that an app would have: public fields, no library. */
final class PlainClasses implements Template {
    @Override
    public String folder() {
        return "plain";
    }

    @Override
    public String suffix() {
        return "";
    }

    @Override
    public String source(Schema.Message message) {
        Source out = new Source();
        out.line("import java.util.List;");
        out.line("");
        out.line("public final class " + message.name + " {");
        for (Schema.Field field : message.fields) {
            out.line("@SchemaField(number = " + field.number() + ", json = \"" + field.json() + "\")" + (field.type().equals("uint64") ? " @Unsigned" : ""));
            String type = field.repeated() ? "List<" + field.boxed() + ">" : field.element();
            out.line("public " + type + " " + field.camel() + initial(field) + ";");
        }
        out.line("}");
        return out.toString();
    }

    /** Returns the initialiser for Protobuf's default, which fields absent from the input keep. */
    private static String initial(Schema.Field field) {
        if (field.repeated()) {
            return " = List.of()";
        }
        switch (field.type()) {
            case "string": return " = \"\"";
            case "bytes": return " = EmptyBytes.BYTES";
            default: return "";
        }
    }
}
