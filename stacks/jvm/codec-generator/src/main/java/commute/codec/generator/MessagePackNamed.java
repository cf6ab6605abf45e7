package commute.codec.generator;

/** Encodes messages as maps from field names to values. */
final class MessagePackNamed implements Template {
    @Override
    public String folder() {
        return "messagepack";
    }

    @Override
    public String suffix() {
        return "Named";
    }

    @Override
    public String source(Schema.Message message) {
        Source out = new Source();
        MessagePackFields fields = new MessagePackFields(out, suffix());
        fields.open(message);
        out.line("packer.packMapHeader(" + message.fields.size() + ");");
        for (Schema.Field field : message.fields) {
            out.line("packer.packString(\"" + field.json() + "\");");
            fields.pack(field);
        }
        fields.startReading(message);
        out.line("int entries = in.unpacker.unpackMapHeader();");
        out.line("for (int entry = 0; entry < entries; entry++) {");
        out.line("switch (in.unpacker.unpackString()) {");
        for (Schema.Field field : message.fields) {
            out.line("case \"" + field.json() + "\": {");
            fields.unpack(field);
            out.line("break;");
            out.line("}");
        }
        out.line("default: in.unpacker.skipValue();");
        out.line("}");
        out.line("}");
        fields.close();
        return out.toString();
    }
}
