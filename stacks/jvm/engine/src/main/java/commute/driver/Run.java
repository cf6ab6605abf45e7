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

/** One run: steps in, rows out. All but the library's own work happens on the caller's thread. */
final class Run {
    private static final long FOREVER_NS = Long.MAX_VALUE / 4;

    private final Stack.Session session;
    private final long timeoutNs;
    private final Schedule schedule;
    private final List<Step> steps = new ArrayList<>();
    /** By place; null where the step is no call. */
    private final List<Stack.Exchange> exchanges = new ArrayList<>();
    private final Groups groups = new Groups();

    private final ArrayDeque<Integer> ready = new ArrayDeque<>();
    private final PriorityQueue<Timer> timers = new PriorityQueue<>(Comparator.comparingLong(timer -> timer.atNs));
    private final Map<Trace, Call> underWay = new HashMap<>();
    private final LinkedBlockingQueue<Trace> ended = new LinkedBlockingQueue<>();
    private int left;

    /** Checks every step and makes every request, so that a refusal comes before anything starts. */
    Run(Stack.Session session, Identity identity, Setup setup, JSONArray asked) throws Exception {
        this.session = session;
        this.timeoutNs = setup.timeoutNs;
        for (int place = 0; place < asked.length(); place++) {
            steps.add(new Step(asked.getJSONObject(place), identity, setup));
        }
        schedule = new Schedule(steps);
        for (Step step : steps) {
            exchanges.add(step.isCall() ? session.prepare(step) : null);
            groups.expect(step);
        }
        left = steps.size();
    }

    /** Calls one after another, of which no row is sent; the first that fails ends it. */
    static void warmUp(Stack.Session session, Setup setup, int calls) throws Exception {
        for (int id = 1; id <= calls; id++) {
            LinkedBlockingQueue<Trace> ended = new LinkedBlockingQueue<>();
            Step step = Step.get(id, 1);
            Stack.Exchange exchange = session.prepare(step);
            Trace trace = new Trace(step, ended::add);
            trace.start();
            exchange.start(trace);
            if (ended.poll(setup.timeoutNs, TimeUnit.NANOSECONDS) == null) {
                exchange.abort();
                throw new IOException("warm-up: no answer from " + setup.url);
            }
            if (trace.error() != null) {
                throw new IOException("warm-up: " + trace.error());
            }
        }
    }

    /** Follows the steps to the end of the last; sends the rows. */
    void follow(Lab lab) throws Exception {
        // What was made before the run is not to be collected in it.
        System.gc();
        long beginNs = System.nanoTime();
        schedule.byTime.forEach((delayNs, places) -> timers.add(new Timer(beginNs + delayNs, () -> ready.addAll(places))));
        while (left > 0) {
            await();
            if (underWay.isEmpty() && timers.isEmpty()) {
                groups.report(lab);
            }
            while (!ready.isEmpty()) {
                begin(ready.poll());
            }
        }
    }

    /** Until a call ends or a timer is due. */
    private void await() throws InterruptedException {
        Timer next = timers.peek();
        long waitNs = next == null ? FOREVER_NS : next.atNs - System.nanoTime();
        Trace trace = ended.poll(waitNs, TimeUnit.NANOSECONDS);
        if (trace != null) {
            Call call = underWay.remove(trace);
            timers.remove(call.limit);
            groups.ended(trace);
            over(call.place);
        } else if (next != null) {
            timers.remove(next);
            next.action.run();
        }
    }

    private void begin(int place) throws Exception {
        Step step = steps.get(place);
        if (step.isCall()) {
            call(place, step);
        } else if (step.kind == Step.Kind.PAUSE) {
            timers.add(new Timer(System.nanoTime() + step.pauseNs, () -> over(place)));
        } else {
            session.reconnect(step.mode);
            over(place);
        }
    }

    private void call(int place, Step step) throws Exception {
        Stack.Exchange exchange = exchanges.set(place, null);
        Trace trace = new Trace(step, ended::add);
        boolean givenUp = step.cancelAfterNs > 0 && step.cancelAfterNs < timeoutNs;
        long limitNs = givenUp ? step.cancelAfterNs : timeoutNs;
        String kind = givenUp ? "cancelled" : "timeout";
        String detail = (givenUp ? "given up after " : "no answer within ") + limitNs / 1_000_000 + " ms";
        Timer limit = new Timer(trace.start() + limitNs, () -> {
            trace.failed(kind, detail);
            exchange.abort();
        });
        exchange.start(trace);
        timers.add(limit);
        underWay.put(trace, new Call(place, limit));
    }

    private void over(int place) {
        left--;
        ready.addAll(schedule.ended(place));
    }

    /** A call under way, and the timer that would end it. */
    private static final class Call {
        final int place;
        final Timer limit;

        Call(int place, Timer limit) {
            this.place = place;
            this.limit = limit;
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

    /** Rows wait for the last of their group. */
    private static final class Groups {
        private final Map<Long, Integer> missing = new HashMap<>();
        private final TreeMap<Long, List<Trace>> ended = new TreeMap<>();

        void expect(Step step) {
            if (step.isCall()) {
                missing.merge(step.group, 1, Integer::sum);
            }
        }

        void ended(Trace trace) {
            missing.merge(trace.step.group, -1, Integer::sum);
            ended.computeIfAbsent(trace.step.group, any -> new ArrayList<>()).add(trace);
        }

        void report(Lab lab) throws IOException, JSONException {
            Iterator<Map.Entry<Long, List<Trace>>> groups = ended.entrySet().iterator();
            while (groups.hasNext()) {
                Map.Entry<Long, List<Trace>> group = groups.next();
                if (missing.get(group.getKey()) == 0) {
                    for (Trace trace : group.getValue()) {
                        lab.say(trace.row());
                    }
                    groups.remove();
                }
            }
        }
    }
}
