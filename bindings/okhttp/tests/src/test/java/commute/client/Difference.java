package commute.client;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What the engine does differently on purpose, by the names of the README's list. A case that meets
 * one names it, and is compared without it.
 */
enum Difference {
    /**
     * The engine opens the real connection while OkHttp waits for its handshake, so that a server which is
     * not there fails after {@code secureConnectStart}; one that comes later, for a connection that OkHttp
     * has already, fails as a request. A call that then falls back adds its events, and is a call of its own
     * before OkHttp 5.4.
     */
    LATE_CONNECT {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = only(lines, "callStart", "callFailed", "canceled", "->");
            int first = same.indexOf("callFailed " + EngineUnavailableException.class.getName());
            if (first >= 0 && !TestClients.BY_INTERCEPTOR) {
                same.subList(first, first + 2).clear();
            }
            return same;
        }
    },
    /** {@code Response.message()} is the phrase of RFC 9110, whatever the server said. */
    REASON {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>();
            for (String line : lines) {
                same.add(line.replaceFirst("^(-> [0-9]{3}) '.*'", "$1"));
            }
            return same;
        }
    },
    /** How much of an unread rest OkHttp drops, and whether on a connection that it keeps. */
    UNREAD_REST {
        @Override
        List<String> without(List<String> lines) {
            return only(lines, "callStart", "callEnd", "->");
        }
    },
    /** A request without a body says so over HTTP/2, unless by GET, HEAD or DELETE. */
    EMPTY_BODY_SAID {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>();
            for (String line : lines) {
                same.add(line.startsWith("-> server") ? line.replace("content-length=[0] ", "") : line);
            }
            return same;
        }
    },
    /**
     * The engine repeats a request that is idempotent, on any connection, and no event tells so; OkHttp does only
     * if the connection was used before, and with the events of each time.
     */
    ENGINE_REPEATS {
        @Override
        List<String> without(List<String> lines) {
            return only(lines, "callStart", "callEnd", "callFailed", "->");
        }
    },
    /** OkHttp repeats any request whose connection was used before; the engine only idempotent ones. */
    NO_SECOND_POST,
    /** OkHttp repeats a request once that was answered by 408; with commute the app gets the 408. */
    NO_408,
    /** The engine knows no proxies, and may learn of one only after a redirect: a GET then begins again by fallback. */
    PROXY_AFTER_REDIRECT {
        @Override
        List<String> without(List<String> lines) {
            return only(lines, "->");
        }
    },
    /** After a call that failed half-way HTTP/2 keeps its connection; one to the engine is another. */
    CONNECTION_AFTER_FAILURE {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>(lines);
            same.removeIf(line -> line.matches("(proxySelect|dns|connect|secureConnect).*"));
            return same;
        }
    },
    /** The engine asks a client's trust manager of resumed sessions, too. */
    RESUMED_IS_CHECKED,
    /** The engine says at once to continue; the server is not asked. */
    CONTINUE_AT_ONCE {
        @Override
        List<String> without(List<String> lines) {
            return only(lines, "callStart", "callEnd", "requestBody", "->");
        }
    },
    /** Over HTTP/2 OkHttp ends a call whose body is shorter than its length; the engine has it fail. */
    SHORT_BODY {
        @Override
        List<String> without(List<String> lines) {
            return only(lines, "callStart", "->");
        }
    },
    /** The point of it all. */
    ANOTHER_PROTOCOL {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>();
            for (String line : lines) {
                same.add(line.replaceFirst("^(-> [0-9]{3} '.*') (h2|h3|quic)$", "$1"));
            }
            return same;
        }
    },
    /** The engine probes connections by itself, whatever {@code pingInterval} says. */
    NO_PINGS,
    /** The engine refuses a 101 that nobody asked for. */
    UNASKED_101,
    /** The engine refuses lengths that conflict, and so does the fallback after it. */
    CONFLICTING_LENGTHS,
    /** Not a difference: the port of a second server, which is another each time. */
    OTHER_PORT {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>();
            for (String line : lines) {
                same.add(line.replaceAll("(localhost|127.0.0.1):[0-9]+", "$1:PORT"));
            }
            return same;
        }
    },
    /** A stream or connection that breaks over HTTP/2 fails as one over HTTP/1.1 does. */
    BROKEN_STREAM {
        @Override
        List<String> without(List<String> lines) {
            List<String> same = new ArrayList<>();
            for (String line : only(lines, "->", "callStart", "callEnd", "callFailed")) {
                same.add(line.replaceAll(BROKEN, "broken"));
            }
            return same;
        }
    };

    /** What a broken stream or connection throws, by who is first to see it: the reader, the writer or the kernel. */
    static final String BROKEN =
            "okhttp3[.]internal[.]http2[.][A-Za-z]*Exception|java[.]net[.](Protocol|Socket)Exception|java[.]io[.]IOException";

    /** Returns the lines that are compared. */
    List<String> without(List<String> lines) {
        return lines;
    }

    private static List<String> only(List<String> lines, String... beginnings) {
        List<String> kept = new ArrayList<>();
        for (String line : lines) {
            if (Arrays.stream(beginnings).anyMatch(line::startsWith)) {
                kept.add(line);
            }
        }
        return kept;
    }
}
