package commute.codec;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** A part of a codec's work, which is timed by itself. */
enum Part {
    POPULATE {
        @Override
        Step of(MessageCodec<Object, Object> codec) {
            return codec::populate;
        }
    },
    ENCODE {
        @Override
        Step of(MessageCodec<Object, Object> codec) {
            return codec::encode;
        }
    },
    DECODE {
        @Override
        Step of(MessageCodec<Object, Object> codec) {
            return input -> codec.decode((byte[]) input);
        }
    },
    CONVERT {
        @Override
        Step of(MessageCodec<Object, Object> codec) {
            return codec::convert;
        }
    };

    static final Set<Part> ALL = EnumSet.allOf(Part.class);
    /** The parts of a library that works on plain objects. */
    static final Set<Part> ENCODE_DECODE = EnumSet.of(ENCODE, DECODE);

    /** Runs the part once. */
    interface Step {
        Object run(Object input) throws Exception;
    }

    /** Returns this part of a codec. */
    abstract Step of(MessageCodec<Object, Object> codec);

    /** Returns the part's name in the protocol. */
    String protocolName() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Part parse(String name) throws UnsupportedException {
        for (Part part : ALL) {
            if (part.protocolName().equals(name)) {
                return part;
            }
        }
        throw new UnsupportedException("part " + name, "unknown to this runner");
    }
}
