package commute.codec;

import commute.codec.plain.Diag;
import commute.codec.plain.DiagPayload;
import commute.driver.Messages;
import commute.driver.UnsupportedRequestException;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** The runner's codecs for drivers, which load this class by name. */
public final class DriverMessages implements Messages {
    private final Map<String, Coder> coders = new HashMap<>();

    @Override
    public Map<String, String> codecs() {
        Map<String, String> codecs = new LinkedHashMap<>();
        for (Offer offer : Codecs.ALL) {
            if (offer.supportsExchange()) {
                codecs.putIfAbsent(offer.codec, offer.libraryAndVersion());
            }
        }
        return codecs;
    }

    @Override
    public Object read(String kind, File valueFile) throws Exception {
        return ValueFiles.parse(valueFile.toPath(), type(kind));
    }

    @Override
    public Object makeBig(int size) {
        return BigMessage.make(size);
    }

    @Override
    public List<Object> parts(Object plain, int chunkBytes) throws UnsupportedRequestException {
        if (!(plain instanceof Diag)) {
            throw new UnsupportedRequestException("step submit", "only a Diag can be sent in parts");
        }
        Diag whole = (Diag) plain;
        byte[] body = whole.payload.body;
        List<Object> parts = new ArrayList<>();
        int at = 0;
        do {
            Diag part = new Diag();
            part.canId = whole.canId;
            part.payload = new DiagPayload();
            part.payload.body = Arrays.copyOfRange(body, at, Math.min(body.length, at + chunkBytes));
            parts.add(part);
            at += chunkBytes;
        } while (at < body.length);
        return parts;
    }

    @Override
    public Coder coder(String codec, String kind) throws Exception {
        Coder known = coders.get(codec + " " + kind);
        if (known == null) {
            known = new CodecPool(firstOffer(codec), type(kind));
            coders.put(codec + " " + kind, known);
        }
        return known;
    }

    @Override
    public boolean equal(Object one, Object other) throws IOException {
        return ValueFiles.text(one).equals(ValueFiles.text(other));
    }

    private static Class<?> type(String kind) throws UnsupportedRequestException {
        try {
            return Generated.plainClass(kind);
        } catch (UnsupportedException unknown) {
            throw new UnsupportedRequestException(unknown.what, unknown.getMessage());
        }
    }

    /** Returns the first library in the table for that codec. */
    private static Offer firstOffer(String codec) throws UnsupportedRequestException {
        for (Offer offer : Codecs.ALL) {
            if (offer.codec.equals(codec) && offer.supportsExchange()) {
                return offer;
            }
        }
        throw new UnsupportedRequestException("codec " + codec, "this driver has no such codec");
    }

    /** Gives each concurrent call its own codec: their state is for one thread at a time. */
    private static final class CodecPool implements Coder {
        private final Offer offer;
        private final Class<?> type;
        private final Queue<MessageCodec<Object, Object>> idle = new ConcurrentLinkedQueue<>();

        CodecPool(Offer offer, Class<?> type) throws ReflectiveOperationException {
            this.offer = offer;
            this.type = type;
            idle.add(offer.make(type));
        }

        @Override
        public byte[] encode(Object plain) throws Exception {
            MessageCodec<Object, Object> codec = acquire();
            byte[] bytes = codec.encode(codec.populate(plain));
            idle.add(codec);
            return bytes;
        }

        @Override
        public Object decode(byte[] bytes) throws Exception {
            MessageCodec<Object, Object> codec = acquire();
            Object plain = codec.convert(codec.decode(bytes));
            idle.add(codec);
            return plain;
        }

        private MessageCodec<Object, Object> acquire() throws ReflectiveOperationException {
            MessageCodec<Object, Object> codec = idle.poll();
            return codec == null ? offer.make(type) : codec;
        }
    }
}
