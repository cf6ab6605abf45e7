package commute.client;

/** What metrics compare. */
public enum MetricsArms {
    /** HTTP/3, HTTP/2 and HTTP/1.1: which is faster? */
    PROTOCOLS,
    /** Installations with HTTP/3 on and those with HTTP/3 off: was the roll-out a gain? */
    ROLLOUT
}
