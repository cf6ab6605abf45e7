package commute.codec;

import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** What is timed. */
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
    /** Of a library that works on plain objects. */
    static final Set<Part> BOTH = EnumSet.of(ENCODE, DECODE);

    /** One call of the part. */
    interface Step {
        Object run(Object input) throws Exception;
    }

    abstract Step of(MessageCodec<Object, Object> codec);

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    static Part named(String word) throws Unsupported {
        for (Part part : ALL) {
            if (part.word().equals(word)) {
                return part;
            }
        }
        throw new Unsupported("part " + word, "this runner does not know it");
    }
}
