package commute.driver;

/** A client library. */
public interface Stack {
    /** Describes the library as loaded. */
    StackInfo info() throws Exception;

    /** Opens a session. It must not touch the origin before a call is started. */
    Session open(Setup setup) throws Exception;

    /** One origin with its connections and tickets. Used only by the engine's thread. */
    interface Session {
        /** Makes the request with its body, so that only sending it is timed. */
        Call prepare(Step step) throws Exception;

        /** Drops every connection: idle ones close now, busy ones after their last call. */
        void reconnect(Reconnect mode) throws Exception;

        /** Closes all connections and threads. */
        void close() throws Exception;
    }

    /** One call, started once. */
    interface Call {
        /** Starts the call and returns. Events go into the trace, from any thread. */
        void start(Trace trace) throws Exception;

        /** Abandons the call, whose trace has already ended. */
        void abort();
    }

    /**
     * What new connections may reuse of the old ones: nothing, a ticket, or a ticket with early
     * data.
     */
    enum Reconnect {
        COLD, RESUME, EARLY_DATA
    }
}
