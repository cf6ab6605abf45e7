package commute.client;

import java.util.function.Consumer;

/** A resolver that has HTTPS records (RFC 9460). The JVM's own has none. */
public interface HttpsRecords {
    /** The type of these records (RFC 9460 section 14.1). */
    int TYPE = 65;

    /**
     * Asks for the record of a name and returns at once. It is called on the threads of calls, once a minute for an
     * origin at most, and never for an IP address. An exception means that there is no answer.
     *
     * @param answer takes the whole DNS message, or null if there is no answer, on any thread. Until it is called,
     *     requests wait, at most 50 ms longer than for addresses. A later answer counts for later connections.
     */
    void ask(String name, Consumer<byte[]> answer);
}
