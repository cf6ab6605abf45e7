package commute.codec.generator;

/**
 * Conversions between plain objects and the classes that protoc generates, written by hand in an
 * app.
 */
final class ProtobufMappings implements Template {
    @Override
    public String folder() {
        return "protobuf";
    }

    @Override
    public String suffix() {
        return "Mapping";
    }

    @Override
    public String source(Schema.Message message) {
        String plain = "commute.codec.plain." + message.name;
        String generated = generated(message.name);
        Source out = new Source();
        out.line("import com.google.protobuf.ByteString;");
        out.line("import com.google.protobuf.Parser;");
        out.line("import java.util.ArrayList;");
        out.line("");
        out.line("public final class " + message.name + "Mapping implements Mapping<" + plain + ", " + generated + "> {");
        out.line("@Override");
        out.line("public " + generated + " populate(" + plain + " plain) {");
        out.line("return message(plain);");
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public " + plain + " convert(" + generated + " message) {");
        out.line("return plain(message);");
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public Parser<" + generated + "> parser() {");
        out.line("return " + generated + ".parser();");
        out.line("}");
        out.line("");
        out.line("static " + generated + " message(" + plain + " plain) {");
        out.line(generated + ".Builder message = " + generated + ".newBuilder();");
        message.fields.forEach(field -> set(out, field));
        out.line("return message.build();");
        out.line("}");
        out.line("");
        out.line("static " + plain + " plain(" + generated + " message) {");
        out.line(plain + " plain = new " + plain + "();");
        message.fields.forEach(field -> get(out, field));
        out.line("return plain;");
        out.line("}");
        out.line("}");
        return out.toString();
    }

    private static void set(Source out, Schema.Field field) {
        String value = "plain." + field.camel();
        if (field.type().equals("null")) {
            return;
        } else if (field.repeated() && field.isMessage()) {
            out.line("for (commute.codec.plain." + field.type() + " element : " + value + ") {");
            out.line("message.add" + field.pascal() + "(" + field.type() + "Mapping.message(element));");
            out.line("}");
        } else if (field.repeated()) {
            out.line("message.addAll" + field.pascal() + "(" + value + ");");
        } else if (field.isMessage()) {
            out.line("message.set" + field.pascal() + "(" + field.type() + "Mapping.message(" + value + "));");
        } else if (field.type().equals("bytes")) {
            out.line("message.set" + field.pascal() + "(ByteString.copyFrom(" + value + "));");
        } else {
            out.line("message.set" + field.pascal() + "(" + value + ");");
        }
    }

    private static void get(Source out, Schema.Field field) {
        String target = "plain." + field.camel();
        String get = "message.get" + field.pascal();
        if (field.type().equals("null")) {
            return;
        } else if (field.repeated() && field.isMessage()) {
            out.line(target + " = new ArrayList<>(" + get + "Count());");
            out.line("for (" + generated(field.type()) + " element : " + get + "List()) {");
            out.line(target + ".add(" + field.type() + "Mapping.plain(element));");
            out.line("}");
        } else if (field.repeated()) {
            out.line(target + " = new ArrayList<>(" + get + "List());");
        } else if (field.isMessage()) {
            out.line("if (message.has" + field.pascal() + "()) {");
            out.line(target + " = " + field.type() + "Mapping.plain(" + get + "());");
            out.line("}");
        } else if (field.type().equals("bytes")) {
            out.line(target + " = " + get + "().toByteArray();");
        } else {
            out.line(target + " = " + get + "();");
        }
    }

    private static String generated(String message) {
        return "commute.bench.v1." + message;
    }
}
