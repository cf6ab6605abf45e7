package commute.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import okio.AsyncTimeout;

/**
 * Spares wake-ups of okio's watchdog thread. Okio wakes the thread for each timed read or write that has the earliest
 * deadline of the process. That is almost each one, since the last has ended by then. While calls read and write, this
 * time-out has an earlier deadline, so the thread wakes for it alone. The deadlines of others stay as they are.
 */
final class WatchdogTimeout extends AsyncTimeout {
    /** Idle calls cost at most two wake-ups. Benchmark waits until the watchdog is as without commute. */
    static final int PERIOD_MS = 100;

    private static final WatchdogTimeout INSTANCE = new WatchdogTimeout();

    /** Whether the time-out is in okio's queue, or about to be. */
    private static final AtomicBoolean QUEUED = new AtomicBoolean();

    /** Whether a call has read or written since the time-out was put into the queue. */
    private static volatile boolean used;

    private WatchdogTimeout() {
        timeout(PERIOD_MS, TimeUnit.MILLISECONDS);
    }

    /** Called before each read and write of a socket to the engine, and before each call. */
    static void use() {
        if (!used) {
            used = true;
        }
        enterUnlessQueued();
    }

    private static void enterUnlessQueued() {
        if (!QUEUED.get() && QUEUED.compareAndSet(false, true)) {
            used = false;
            INSTANCE.enter();
        }
    }

    /** Called by the watchdog, which has taken the time-out from its queue. */
    @Override
    protected void timedOut() {
        exit();
        if (used) {
            used = false;
            enter();
            return;
        }
        QUEUED.set(false);
        if (used) {
            enterUnlessQueued();
        }
    }
}
