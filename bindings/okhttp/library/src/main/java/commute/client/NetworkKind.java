package commute.client;

/** What a network is, for metrics; nothing is decided by it. */
public enum NetworkKind {
    /** Not known, or none of the others. */
    OTHER,
    WIFI,
    /** 2G to 5G. */
    CELLULAR,
    /** A cable. */
    ETHERNET
}
