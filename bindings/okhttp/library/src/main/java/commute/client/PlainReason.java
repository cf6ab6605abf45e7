package commute.client;

/** Why a request goes by OkHttp's own sockets. */
enum PlainReason {
    SWITCHED_OFF("commute is switched off"),
    ORIGIN_SWITCHED_OFF("commute is switched off for this origin"),
    NO_LIBRARY("the native library is missing"),
    ENGINE("the engine could not be started, or did not take the request"),
    NOT_SENT("the engine found no way to the server"),
    CLEARTEXT("the URL is not https"),
    UPGRADE("the request asks for an upgrade or a tunnel"),
    CONNECTION_FIELD("the request asks to close its connection"),
    DUPLEX("the body of the request is duplex"),
    HOST_HEADER("the request names another host than its URL"),
    PROXY("a proxy applies"),
    SOCKET_FACTORY("the client has a socket factory of its own"),
    DNS("the client has a Dns of its own"),
    MALFORMED_HEAD("the server's responses over HTTP/1.1 are malformed"),
    NO_TRUST_MANAGER("the client has no trust manager"),
    PROTOCOLS("the client does not allow HTTP/2"),
    IN_TRUST_CHECK("the request is made while a certificate is checked");

    private final String sentence;

    PlainReason(String sentence) {
        this.sentence = sentence;
    }

    /** Returns a code that stays the same across versions. */
    String code() {
        return "plain." + name().toLowerCase(java.util.Locale.ROOT);
    }

    String sentence() {
        return sentence;
    }
}
