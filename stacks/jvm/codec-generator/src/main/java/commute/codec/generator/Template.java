package commute.codec.generator;

import java.util.List;

/** Writes one class for each kind of message. */
interface Template {
    List<Template> ALL = List.of(
            new PlainClasses(), new ProtobufMappings(), new OrgJsonTrees(), new MoshiAdapters(),
            new MessagePackNamed(), new MessagePackPositional());

    /** The package under {@code commute.codec}. */
    String folder();

    /** What follows the message's name in the class's. */
    String suffix();

    String source(Schema.Message message);
}
