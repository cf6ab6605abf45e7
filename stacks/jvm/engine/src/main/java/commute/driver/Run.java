package commute.driver;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.json.JSONArray;
import org.json.JSONException;

/**
 * One run: executes steps and reports rows. All but the library's own work happens on the caller's
 * thread.
 */
final class Run {
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private final Stack.Session session;
    private final long timeoutNs;
    private final Schedule schedule;
    private final List<Step> steps = new ArrayList<>();
    /** By step index; null for steps that are not calls. */
    private final List<Stack.Call> calls = new ArrayList<>();
    private final Groups groups = new Groups();

    private final ArrayDeque<Integer> ready = new ArrayDeque<>();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(Comparator.comparingLong(timer -> timer.atNs));
    private final Map<Trace, InFlight> inFlight = new HashMap<>();
    private final LinkedBlockingQueue<Trace> ended = new LinkedBlockingQueue<>();
    private int remaining;

    /**
     * Checks every step and makes every request, so that unsupported steps are rejected before any
     * starts.
     */
    Run(Stack.Session session, StackInfo info, Setup setup, JSONArray requested) throws Exception {
        this.session = session;
        this.timeoutNs = setup.timeoutNs;
        for (int index = 0; index < requested.length(); index++) {
            steps.add(new Step(requested.getJSONObject(index), info, setup));
        }
        schedule = new Schedule(steps);
        for (Step step : steps) {
            calls.add(step.isCall() ? session.prepare(step) : null);
            groups.expect(step);
        }
        remaining = steps.size();
    }

    /** Makes calls one after another without reporting them. Throws at the first that fails. */
    static void warmUp(Stack.Session session, Setup setup, int calls) throws Exception {
        for (int id = 1; id <= calls; id++) {
            LinkedBlockingQueue<Trace> ended = new LinkedBlockingQueue<>();
            Step step = Step.get(id, 1);
            Stack.Call call = session.prepare(step);
            Trace trace = new Trace(step, ended::add);
            trace.start();
            call.start(trace);
            if (ended.poll(setup.timeoutNs, TimeUnit.NANOSECONDS) == null) {
                call.abort();
                throw new IOException("warm-up: no answer from " + setup.url);
            }
            if (trace.error() != null) {
                throw new IOException("warm-up: " + trace.error());
            }
        }
    }

    /** Executes all steps and sends their rows. */
    void execute(LabChannel lab) throws Exception {
        // So that garbage made so far is not collected during the run.
        System.gc();
        long beginNs = System.nanoTime();
        schedule.begin(beginNs);
        schedule.byTime.forEach((delayNs, indexes) -> timers.add(new Timer(beginNs + delayNs, () -> ready.addAll(indexes))));
        while (remaining > 0) {
            await();
            if (inFlight.isEmpty() && timers.isEmpty()) {
                groups.report(lab);
            }
            while (!ready.isEmpty()) {
                start(ready.poll());
            }
        }
        groups.report(lab);
    }

    /** Waits until a call ends or a timer is due, and handles it. */
    private void await() throws InterruptedException {
        Timer next = timers.peek();
        long waitNs = next == null ? FOREVER_NS : next.atNs - System.nanoTime();
        Trace trace = ended.poll(waitNs, TimeUnit.NANOSECONDS);
        if (trace != null) {
            InFlight call = inFlight.remove(trace);
            timers.remove(call.deadline);
            groups.add(trace);
            stepEnded(call.index);
        } else if (next != null) {
            timers.remove(next);
            next.action.run();
        }
    }

    private void start(int index) throws Exception {
        Step step = steps.get(index);
        if (schedule.isLate(index, System.nanoTime())) {
            groups.skip(step);
            stepEnded(index);
        } else if (step.isCall()) {
            startCall(index, step);
        } else if (step.kind == Step.Kind.PAUSE) {
            timers.add(new Timer(System.nanoTime() + step.pauseNs, () -> stepEnded(index)));
        } else {
            session.reconnect(step.mode);
            stepEnded(index);
        }
    }

    private void startCall(int index, Step step) throws Exception {
        Stack.Call call = calls.set(index, null);
        Trace trace = new Trace(step, ended::add);
        boolean cancels = step.cancelAfterNs > 0 && step.cancelAfterNs < timeoutNs;
        long limitNs = cancels ? step.cancelAfterNs : timeoutNs;
        String kind = cancels ? "cancelled" : "timeout";
        String detail = (cancels ? "cancelled after " : "no answer within ") + limitNs / 1_000_000 + " ms";
        Timer deadline = new Timer(trace.start() + limitNs, () -> {
            trace.fail(kind, detail);
            call.abort();
        });
        call.start(trace);
        timers.add(deadline);
        inFlight.put(trace, new InFlight(index, deadline));
    }

    private void stepEnded(int index) {
        remaining--;
        ready.addAll(schedule.stepEnded(index, System.nanoTime()));
    }

    /** A call in flight, and the timer that ends it. */
    private static final class InFlight {
        final int index;
        final Timer deadline;

        InFlight(int index, Timer deadline) {
            this.index = index;
            this.deadline = deadline;
        }
    }

    private static final class Timer {
        final long atNs;
        final Runnable action;

        Timer(long atNs, Runnable action) {
            this.atNs = atNs;
            this.action = action;
        }
    }

    /** Holds calls back until the last of their group has ended. */
    private static final class Groups {
        private final Map<Long, Integer> remaining = new HashMap<>();
        private final TreeMap<Long, List<Trace>> ended = new TreeMap<>();

        void expect(Step step) {
            if (step.isCall()) {
                remaining.merge(step.group, 1, Integer::sum);
            }
        }

        void skip(Step step) {
            if (step.isCall()) {
                remaining.merge(step.group, -1, Integer::sum);
            }
        }

        void add(Trace trace) {
            remaining.merge(trace.step.group, -1, Integer::sum);
            ended.computeIfAbsent(trace.step.group, any -> new ArrayList<>()).add(trace);
        }

        void report(LabChannel lab) throws IOException, JSONException {
            Iterator<Map.Entry<Long, List<Trace>>> groups = ended.entrySet().iterator();
            while (groups.hasNext()) {
                Map.Entry<Long, List<Trace>> group = groups.next();
                if (remaining.get(group.getKey()) == 0) {
                    for (Trace trace : group.getValue()) {
                        lab.send(trace.row());
                    }
                    groups.remove();
                }
            }
        }
    }
}
