package commute.codec;

import commute.driver.Messages;
import commute.driver.Unsupported;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** The same codecs for drivers, who find this class by its name. */
public final class DriverMessages implements Messages {
    private final Map<String, Coder> coders = new HashMap<>();

    @Override
    public Map<String, String> codecs() {
        Map<String, String> codecs = new LinkedHashMap<>();
        for (Offer offer : Codecs.ALL) {
            if (offer.carriesMessages()) {
                codecs.putIfAbsent(offer.codec, offer.libraryAndVersion());
            }
        }
        return codecs;
    }

    @Override
    public Object read(String kind, File valueFile) throws Exception {
        return Values.parse(valueFile.toPath(), type(kind));
    }

    @Override
    public Object big(int size) {
        return BigByRule.of(size);
    }

    @Override
    public Coder coder(String codec, String kind) throws Exception {
        Coder known = coders.get(codec + " " + kind);
        if (known == null) {
            known = new Pool(first(codec), type(kind));
            coders.put(codec + " " + kind, known);
        }
        return known;
    }

    @Override
    public boolean same(Object one, Object other) throws IOException {
        return Values.text(one).equals(Values.text(other));
    }

    private static Class<?> type(String kind) throws Unsupported {
        try {
            return Generated.plain(kind);
        } catch (commute.codec.Unsupported unknown) {
            throw new Unsupported(unknown.what, unknown.getMessage());
        }
    }

    /** The table's first of that codec is what drivers use. */
    private static Offer first(String codec) throws Unsupported {
        for (Offer offer : Codecs.ALL) {
            if (offer.codec.equals(codec) && offer.carriesMessages()) {
                return offer;
            }
        }
        throw new Unsupported("codec " + codec, "there is none here");
    }

    /** What a codec keeps between calls is for one thread at a time; calls side by side get one each. */
    private static final class Pool implements Coder {
        private final Offer offer;
        private final Class<?> type;
        private final Queue<MessageCodec<Object, Object>> idle = new ConcurrentLinkedQueue<>();

        Pool(Offer offer, Class<?> type) throws ReflectiveOperationException {
            this.offer = offer;
            this.type = type;
            idle.add(offer.make(type));
        }

        @Override
        public byte[] encode(Object plain) throws Exception {
            MessageCodec<Object, Object> codec = take();
            byte[] bytes = codec.encode(codec.populate(plain));
            idle.add(codec);
            return bytes;
        }

        @Override
        public Object decode(byte[] bytes) throws Exception {
            MessageCodec<Object, Object> codec = take();
            Object plain = codec.convert(codec.decode(bytes));
            idle.add(codec);
            return plain;
        }

        private MessageCodec<Object, Object> take() throws ReflectiveOperationException {
            MessageCodec<Object, Object> codec = idle.poll();
            return codec == null ? offer.make(type) : codec;
        }
    }
}
