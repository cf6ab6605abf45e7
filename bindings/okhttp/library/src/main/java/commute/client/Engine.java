package commute.client;

import javax.net.SocketFactory;
import javax.net.ssl.SSLSocketFactory;

/** An engine, and the factories of its sockets. */
final class Engine {
    final TrustContext trust;
    /** OkHttp's pool keeps connections of different factories apart. */
    final SocketFactory sockets = new EngineSocketFactory();

    final SSLSocketFactory sslSockets = new EngineSslSocketFactory(this);
    private final long handle;
    /** Null if the app has no resolver for HTTPS records. */
    private final RecordQueries records;

    Engine(long handle, TrustContext trust, HttpsRecords resolver) {
        this.handle = handle;
        this.trust = trust;
        records = resolver == null
                ? null
                : new RecordQueries(resolver, (host, port, answer) -> Native.httpsRecord(handle, host, port, answer));
    }

    /** Opens a socket; 0 if the engine has ended. */
    long open(String host, int port, int connectLimitMs) {
        if (records != null) {
            records.ask(host, port, System.nanoTime());
        }
        return Native.open(handle, host, port, connectLimitMs);
    }

    void setSwitches(int generation, int http3Percent) {
        Native.setSwitches(handle, generation, http3Percent, true);
    }

    void setNetwork(byte[] id, boolean metered, NetworkKind kind) {
        Native.setNetwork(handle, id, metered, kind.ordinal());
    }

    void workedWithout() {
        Native.workedWithout(handle);
    }

    String metricsCsv(MetricsArms arms) {
        return Native.metricsCsv(handle, arms == MetricsArms.ROLLOUT);
    }

    void save() {
        Native.save(handle);
    }

    void end() {
        Native.endEngine(handle);
    }
}
