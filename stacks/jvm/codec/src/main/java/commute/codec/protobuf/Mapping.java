package commute.codec.protobuf;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;

/** Between a kind of plain object and the class that protoc generates of it. */
public interface Mapping<P, M extends MessageLite> {
    M populate(P plain);

    P convert(M message);

    Parser<M> parser();
}
