package commute.codec.generator;

/**
 * Conversions between plain objects and org.json's trees, written by hand in an app: the library
 * has no data binding.
 */
final class OrgJsonTrees implements Template {
    @Override
    public String folder() {
        return "orgjson";
    }

    @Override
    public String suffix() {
        return "Tree";
    }

    @Override
    public String source(Schema.Message message) {
        Source out = new Source();
        out.line("import commute.codec.plain.*;");
        out.line("import java.util.ArrayList;");
        out.line("import java.util.Base64;");
        out.line("import org.json.JSONArray;");
        out.line("import org.json.JSONObject;");
        out.line("");
        out.line("public final class " + message.name + "Tree implements Tree<" + message.name + "> {");
        out.line("@Override");
        out.line("public JSONObject populate(" + message.name + " plain) {");
        out.line("return tree(plain);");
        out.line("}");
        out.line("");
        out.line("@Override");
        out.line("public " + message.name + " convert(JSONObject tree) {");
        out.line("return plain(tree);");
        out.line("}");
        out.line("");
        out.line("static JSONObject tree(" + message.name + " plain) {");
        out.line("JSONObject tree = new JSONObject();");
        message.fields.forEach(field -> put(out, field));
        out.line("return tree;");
        out.line("}");
        out.line("");
        out.line("static " + message.name + " plain(JSONObject tree) {");
        out.line(message.name + " plain = new " + message.name + "();");
        message.fields.forEach(field -> get(out, field));
        out.line("return plain;");
        out.line("}");
        out.line("}");
        return out.toString();
    }

    private static void put(Source out, Schema.Field field) {
        String value = "plain." + field.camel();
        if (field.repeated() && field.isMessage()) {
            String array = field.camel() + "Array";
            out.line("JSONArray " + array + " = new JSONArray();");
            out.line("for (" + field.type() + " element : " + value + ") {");
            out.line(array + ".put(" + field.type() + "Tree.tree(element));");
            out.line("}");
            value = array;
        } else if (field.repeated()) {
            value = "new JSONArray(" + value + ")";
        } else if (field.isMessage()) {
            value = field.type() + "Tree.tree(" + value + ")";
        } else if (field.type().equals("bytes")) {
            value = "Base64.getEncoder().encodeToString(" + value + ")";
        } else if (field.type().equals("uint64")) {
            value = "TreeValues.unsigned(" + value + ")";
        } else if (field.type().equals("null")) {
            value = "JSONObject.NULL";
        }
        out.line("tree.put(\"" + field.json() + "\", " + value + ");");
    }

    private static void get(Source out, Schema.Field field) {
        String target = "plain." + field.camel();
        String value = "tree.opt(\"" + field.json() + "\")";
        if (field.repeated()) {
            out.line("JSONArray " + field.camel() + "Array = TreeValues.array(" + value + ");");
            out.line(target + " = new ArrayList<>(" + field.camel() + "Array.length());");
            out.line("for (Object element : " + field.camel() + "Array) {");
            out.line(target + ".add(" + element(field, "element") + ");");
            out.line("}");
        } else {
            out.line(target + " = " + element(field, value) + ";");
        }
    }

    private static String element(Schema.Field field, String value) {
        if (field.isMessage()) {
            return field.type() + "Tree.plain(TreeValues.object(" + value + "))";
        }
        return "TreeValues." + field.type() + "Of(" + value + ")";
    }
}
