package commute.codec.generator;

import java.util.List;

/**
 * Writes one class per kind of message. Plain text rather than a library such as JavaPoet: the
 * output is a few statements per field, and a template reads like the code that it writes.
 */
interface Template {
    List<Template> ALL = List.of(
            new PlainClasses(), new ProtobufMappings(), new OrgJsonTrees(), new MoshiAdapters(),
            new MessagePackNamed(), new MessagePackPositional());

    /** Returns the package's name under {@code commute.codec}. */
    String folder();

    /** Returns what follows the message's name in the class's name. */
    String suffix();

    /** Returns the class's source without its package declaration. */
    String source(Schema.Message message);
}
