package commute.client;

import java.util.concurrent.TimeUnit;
import okhttp3.ConnectionPool;

/** OkHttp's idle sockets to engines. They cost memory only, keep no engine, and go stale by no network's change. */
final class EnginePool {
    static final ConnectionPool POOL = new ConnectionPool(64, 5, TimeUnit.MINUTES);

    private EnginePool() {}
}
