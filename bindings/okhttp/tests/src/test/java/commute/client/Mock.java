package commute.client;

import java.util.HashMap;
import java.util.Map;
import okhttp3.mockwebserver.MockResponse;

/** Responses with the reason phrases of RFC 9110, since the engine tells no others. */
final class Mock {
    private static final Map<Integer, String> REASONS = new HashMap<>();

    static {
        String[] reasons = {
            "200 OK", "201 Created", "202 Accepted", "204 No Content", "206 Partial Content", "300 Multiple Choices",
            "301 Moved Permanently", "302 Found", "303 See Other", "304 Not Modified", "307 Temporary Redirect",
            "308 Permanent Redirect", "400 Bad Request", "401 Unauthorized", "403 Forbidden", "404 Not Found",
            "408 Request Timeout", "410 Gone", "417 Expectation Failed", "421 Misdirected Request",
            "429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"
        };
        for (String reason : reasons) {
            REASONS.put(Integer.valueOf(reason.substring(0, 3)), reason.substring(4));
        }
    }

    private Mock() {}

    static MockResponse response(int code) {
        String reason = REASONS.get(code);
        if (reason == null) {
            throw new IllegalArgumentException("add the reason of " + code);
        }
        return new MockResponse().setStatus("HTTP/1.1 " + code + " " + reason);
    }

    static MockResponse ok(String body) {
        return response(200).setBody(body);
    }

    static MockResponse redirect(int code, Object to) {
        return response(code).setHeader("Location", to.toString()).setBody("moved");
    }
}
