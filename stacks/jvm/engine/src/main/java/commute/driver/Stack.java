package commute.driver;

/** A client library: who it is, and a way to open sessions with it. */
public interface Stack {
    Identity identity() throws Exception;

    /** Nothing may touch the origin before a call is started. */
    Session open(Setup setup) throws Exception;

    /** One origin with its connections and tickets. Used by the engine's thread only. */
    interface Session {
        /** Makes the request with its body, so that sending it is all that is timed. */
        Exchange prepare(Step step) throws Exception;

        /** Lets go of every connection: idle ones close now, busy ones after their last call. */
        void reconnect(Reconnect mode) throws Exception;

        /** Closes all. */
        void close() throws Exception;
    }

    /** One call, started once. */
    interface Exchange {
        /** Returns at once; all that happens goes into the trace, from any thread. */
        void start(Trace trace) throws Exception;

        /** The application wants it no more; its trace has ended already. */
        void abort();
    }

    /** What a new connection may use of the old one. */
    enum Reconnect {
        COLD, RESUME, EARLY_DATA
    }
}
