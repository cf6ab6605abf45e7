package commute.codec;

import com.google.gson.JsonObject;

/** What is said to the bench. */
final class Reply {
    private static final int WORDS = 300;

    private Reply() {}

    static JsonObject of(String type) {
        JsonObject reply = new JsonObject();
        reply.addProperty("type", type);
        return reply;
    }

    static JsonObject of(Unsupported refusal) {
        JsonObject reply = of("unsupported");
        reply.addProperty("what", cut(refusal.what));
        reply.addProperty("reason", refusal.getMessage());
        return reply;
    }

    static JsonObject of(Refused refusal) {
        JsonObject reply = of("refused");
        reply.addProperty("error", words(refusal.getCause()));
        return reply;
    }

    static JsonObject failed(Throwable failure) {
        JsonObject reply = of("failed");
        reply.addProperty("reason", words(failure));
        return reply;
    }

    /** One line, as most libraries' messages are not. */
    private static String words(Throwable failure) {
        String message = failure.getMessage() == null ? "" : ": " + failure.getMessage();
        return cut((failure.getClass().getSimpleName() + message).replaceAll("\\s+", " "));
    }

    private static String cut(String text) {
        return text.length() <= WORDS ? text : text.substring(0, WORDS) + "...";
    }
}
