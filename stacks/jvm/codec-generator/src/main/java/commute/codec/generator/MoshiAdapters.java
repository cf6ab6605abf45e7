package commute.codec.generator;

/** The adapters that Moshi's own generator, which reads only Kotlin, would write for such classes. */
final class MoshiAdapters implements Template {
    @Override
    public String folder() {
        return "moshi";
    }

    @Override
    public String suffix() {
        return "JsonAdapter";
    }

    @Override
    public String source(Schema.Message message) {
        Source out = new Source();
        out.line("import com.squareup.moshi.JsonAdapter;");
        out.line("import com.squareup.moshi.JsonReader;");
        out.line("import com.squareup.moshi.JsonWriter;");
        out.line("import com.squareup.moshi.Moshi;");
        out.line("import com.squareup.moshi.Types;");
        out.line("import commute.codec.plain.*;");
        out.line("import java.io.IOException;");
        out.line("import java.util.List;");
        out.line("");
        out.line("public final class " + message.name + "JsonAdapter extends JsonAdapter<" + message.name + "> {");
        StringBuilder names = new StringBuilder();
        for (Schema.Field field : message.fields) {
            names.append(names.length() == 0 ? "" : ", ").append('"').append(field.json()).append('"');
            out.line("private final JsonAdapter<" + type(field) + "> " + field.camel() + "Adapter;");
        }
        out.line("private final JsonReader.Options options = JsonReader.Options.of(" + names + ");");
        out.line("");
        out.line("public " + message.name + "JsonAdapter(Moshi moshi) {");
        message.fields.forEach(field -> out.line(field.camel() + "Adapter = " + adapter(field) + ";"));
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public " + message.name + " fromJson(JsonReader reader) throws IOException {");
        out.line(message.name + " plain = new " + message.name + "();");
        out.line("reader.beginObject();");
        out.line("while (reader.hasNext()) {");
        out.line("switch (reader.selectName(options)) {");
        for (int index = 0; index < message.fields.size(); index++) {
            String name = message.fields.get(index).camel();
            out.line("case " + index + ": plain." + name + " = " + name + "Adapter.fromJson(reader); break;");
        }
        out.line("default: reader.skipName(); reader.skipValue();");
        out.line("}");
        out.line("}");
        out.line("reader.endObject();");
        out.line("return plain;");
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public void toJson(JsonWriter writer, " + message.name + " plain) throws IOException {");
        out.line("writer.beginObject();");
        for (Schema.Field field : message.fields) {
            out.line("writer.name(\"" + field.json() + "\");");
            out.line(field.camel() + "Adapter.toJson(writer, plain." + field.camel() + ");");
        }
        out.line("writer.endObject();");
        out.line("}");
        out.line("}");
        return out.toString();
    }

    private static String type(Schema.Field field) {
        return field.repeated() ? "List<" + field.boxed() + ">" : field.boxed();
    }

    private static String adapter(Schema.Field field) {
        if (field.repeated()) {
            return "moshi.adapter(Types.newParameterizedType(List.class, " + field.boxed() + ".class))";
        }
        return field.type().equals("uint64") ? "new UnsignedLongAdapter()" : "moshi.adapter(" + field.element() + ".class)";
    }
}
