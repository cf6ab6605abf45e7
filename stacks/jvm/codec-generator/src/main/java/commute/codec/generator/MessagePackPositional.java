package commute.codec.generator;

/** Encodes messages as arrays of their fields. */
final class MessagePackPositional implements Template {
    @Override
    public String folder() {
        return "messagepack";
    }

    @Override
    public String suffix() {
        return "Positional";
    }

    @Override
    public String source(Schema.Message message) {
        Source out = new Source();
        MessagePackFields fields = new MessagePackFields(out, suffix());
        fields.open(message);
        out.line("packer.packArrayHeader(" + message.fields.size() + ");");
        message.fields.forEach(fields::pack);
        fields.startReading(message);
        out.line("int present = in.unpacker.unpackArrayHeader();");
        for (int index = 0; index < message.fields.size(); index++) {
            out.line("if (present > " + index + ") {");
            fields.unpack(message.fields.get(index));
            out.line("}");
        }
        out.line("in.unpacker.skipValue(present - " + message.fields.size() + ");");
        fields.close();
        return out.toString();
    }
}
