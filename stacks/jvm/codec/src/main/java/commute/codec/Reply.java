package commute.codec;

import com.google.gson.JsonObject;

/** Makes replies to the bench. */
final class Reply {
    private static final int MAX_CHARS = 300;

    private Reply() {}

    static JsonObject of(String type) {
        JsonObject reply = new JsonObject();
        reply.addProperty("type", type);
        return reply;
    }

    static JsonObject of(UnsupportedException refusal) {
        JsonObject reply = of("unsupported");
        reply.addProperty("what", truncate(refusal.what));
        reply.addProperty("reason", refusal.getMessage());
        return reply;
    }

    static JsonObject of(RefusedException refusal) {
        JsonObject reply = of("refused");
        reply.addProperty("error", describe(refusal.getCause()));
        return reply;
    }

    static JsonObject failed(Throwable failure) {
        JsonObject reply = of("failed");
        reply.addProperty("reason", describe(failure));
        return reply;
    }

    /** Returns an exception's message as one line. */
    private static String describe(Throwable failure) {
        String message = failure.getMessage() == null ? "" : ": " + failure.getMessage();
        return truncate((failure.getClass().getSimpleName() + message).replaceAll("\\s+", " "));
    }

    private static String truncate(String text) {
        return text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS) + "...";
    }
}
