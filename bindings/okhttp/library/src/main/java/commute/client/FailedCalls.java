package commute.client;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import okhttp3.Call;

/** How far calls got that have no response which could say so, as long as the app has them. */
final class FailedCalls {
    private static final Map<Call, RouteReport> REPORTS = Collections.synchronizedMap(new WeakHashMap<>());

    private FailedCalls() {}

    static void put(Call call, RouteReport report) {
        if (report != null) {
            REPORTS.put(call, report);
        }
    }

    /** Forgets a call: it has a response after all. */
    static void remove(Call call) {
        REPORTS.remove(call);
    }

    /** Returns the report of a failed call; null if nothing was sent for it, or it did not fail. */
    static RouteReport get(Call call) {
        return REPORTS.get(call);
    }
}
