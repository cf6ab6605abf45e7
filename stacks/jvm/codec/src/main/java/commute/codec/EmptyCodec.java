package commute.codec;

/** Does nothing, through the same calls as every other codec, which shows the cost of the harness. */
final class EmptyCodec implements MessageCodec.Plain<Object> {
    private static final byte[] NOTHING = {};

    private final Object message;

    EmptyCodec(Class<?> type) throws ReflectiveOperationException {
        message = type.getConstructor().newInstance();
    }

    @Override
    public byte[] encode(Object plain) {
        return NOTHING;
    }

    @Override
    public Object decode(byte[] bytes) {
        return message;
    }
}
