package commute.codec.protobuf;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;

/** Converts between one kind of plain object and the class that protoc generates for it. */
public interface Mapping<P, M extends MessageLite> {
    /** Converts a plain object into a Protobuf message. */
    M populate(P plain);

    /** Converts a Protobuf message into a plain object. */
    P convert(M message);

    /** Returns the generated class's parser. */
    Parser<M> parser();
}
