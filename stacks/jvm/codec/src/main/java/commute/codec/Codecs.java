package commute.codec;

import commute.codec.cbor.CborCodec;
import commute.codec.messagepack.MessagePackCodec;
import commute.codec.moshi.MoshiCodec;
import commute.codec.orgjson.OrgJsonCodec;
import commute.codec.protobuf.ProtobufCodec;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** The codecs that this runner offers. For a codec with several libraries, drivers use the first. */
final class Codecs {
    private static final Library PROTOBUF = new Library("com/google/protobuf/MessageLite.class", "protobuf-javalite");
    private static final Library ORG_JSON = new Library("org/json/JSONObject.class", "json");
    private static final Library MOSHI = new Library("com/squareup/moshi/Moshi.class", "moshi");
    private static final Library MESSAGE_PACK = new Library("org/msgpack/core/MessagePack.class", "msgpack-core");
    private static final Library CBOR = new Library("com/fasterxml/jackson/dataformat/cbor/CBORFactory.class", "jackson-dataformat-cbor");
    private static final Library ZSTD = new Library("com/github/luben/zstd/Zstd.class", "zstd-jni");

    private static final String UNORDERED = "org.json's objects are hash maps: names are not in the schema's order";

    static final List<Offer> ALL = new ArrayList<>();

    static {
        add("empty", "none", "1", Part.ENCODE_DECODE, null, EmptyCodec::new);

        add("protobuf", "protobuf-javalite byte[]", PROTOBUF.version(), Part.ALL, null, ProtobufCodec.Bytes::new);
        add("protobuf", "protobuf-javalite coded", PROTOBUF.version(), Part.ALL, null, ProtobufCodec.Coded::new);
        add("protobuf", "protobuf-javalite stream", PROTOBUF.version(), Part.ALL, null, ProtobufCodec.Stream::new);
        add("json", "moshi", MOSHI.version(), Part.ENCODE_DECODE, null, MoshiCodec::new);
        add("json", "org.json", ORG_JSON.version(), Part.ALL, UNORDERED, OrgJsonCodec::new);
        add("msgpack", "msgpack-core", MESSAGE_PACK.version(), Part.ENCODE_DECODE, null, MessagePackCodec.Named::new);
        add("msgpack-array", "msgpack-core", MESSAGE_PACK.version(), Part.ENCODE_DECODE, null, MessagePackCodec.Positional::new);
        add("msgpack-old", "msgpack-core", MESSAGE_PACK.version(), EnumSet.of(Part.DECODE), null, MessagePackCodec.Named::new);
        add("cbor", "jackson-dataformat-cbor", CBOR.version(), Part.ENCODE_DECODE, null, CborCodec::new);

        String zlib = "java.util.zip of Java " + System.getProperty("java.version");
        String zstd = "zstd-jni " + ZSTD.version();
        add("json+gzip-1", "moshi", MOSHI.version() + ", " + zlib, Part.ENCODE_DECODE, null, type -> gzip(new MoshiCodec<>(type), 1));
        add("json+gzip-6", "moshi", MOSHI.version() + ", " + zlib, Part.ENCODE_DECODE, null, type -> gzip(new MoshiCodec<>(type), 6));
        add("json+gzip-6", "org.json", ORG_JSON.version() + ", " + zlib, Part.ALL, UNORDERED, type -> gzip(new OrgJsonCodec<>(type), 6));
        add("json+zstd-3", "moshi", MOSHI.version() + ", " + zstd, Part.ENCODE_DECODE, null, type -> zstd(new MoshiCodec<>(type), 3));
        add("protobuf+gzip-6", "protobuf-javalite byte[]", PROTOBUF.version() + ", " + zlib, Part.ALL, null, type -> gzip(new ProtobufCodec.Bytes<>(type), 6));
        add("protobuf+zstd-3", "protobuf-javalite byte[]", PROTOBUF.version() + ", " + zstd, Part.ALL, null, type -> zstd(new ProtobufCodec.Bytes<>(type), 3));
    }

    private Codecs() {}

    static Offer find(String codec, String library) throws UnsupportedException {
        boolean known = false;
        for (Offer one : ALL) {
            if (one.codec.equals(codec)) {
                if (one.library.equals(library)) {
                    return one;
                }
                known = true;
            }
        }
        throw known
                ? new UnsupportedException("library " + library, "not offered for " + codec)
                : new UnsupportedException("codec " + codec, "unknown to this runner");
    }

    private static MessageCodec<?, ?> gzip(MessageCodec<?, ?> inner, int level) {
        return new CompressedCodec<>(inner, new Gzip(level));
    }

    private static MessageCodec<?, ?> zstd(MessageCodec<?, ?> inner, int level) {
        return new CompressedCodec<>(inner, new Zstandard(level));
    }

    private static void add(String codec, String library, String version, Set<Part> parts, String caveat, Offer.Factory factory) {
        ALL.add(new Offer(codec, library, version, parts, caveat, factory));
    }
}
