package commute.codec.generator;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Generates the sources. Arguments: the schema, which is a .proto file, and the output folder. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        Schema schema = Schema.parse(Files.readString(Path.of(arguments[0])));
        Path sources = Path.of(arguments[1]);
        for (Template template : Template.ALL) {
            for (Schema.Message message : schema.messages) {
                String name = message.name + template.suffix();
                Path file = sources.resolve("commute/codec/" + template.folder() + "/" + name + ".java");
                Files.createDirectories(file.getParent());
                Files.writeString(file, "package commute.codec." + template.folder() + ";\n\n" + template.source(message));
            }
        }
    }
}
