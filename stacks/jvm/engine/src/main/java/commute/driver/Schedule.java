package commute.driver;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONException;

/** Decides when steps start: at a time after the run began, or when other steps have ended. */
final class Schedule {
    /** Indexes of steps by their start time, in ns after the run began. */
    final TreeMap<Long, List<Integer>> byTime = new TreeMap<>();

    private final int size;
    private final Map<Integer, List<Integer>> followers = new HashMap<>();
    /** Steps that wait for all earlier ones. */
    private final BitSet sequential = new BitSet();
    private final BitSet ended = new BitSet();
    private final List<Step> steps;
    /** Indexes of the steps that limits count from; -1: the start of the run. */
    private final Map<Integer, Integer> limits = new HashMap<>();
    private final long[] endedNs;
    private long beginNs;

    Schedule(List<Step> steps) throws JSONException, UnsupportedRequestException {
        this.steps = steps;
        size = steps.size();
        endedNs = new long[size];
        Map<Long, Integer> indexes = new HashMap<>();
        long previous = 0;
        for (int index = 0; index < size; index++) {
            Step step = steps.get(index);
            if (step.id <= previous) {
                throw new JSONException("step " + step.id + " follows step " + previous + ": ids must start at 1 and increase");
            }
            previous = step.id;
            if (step.start == null && index > 0) {
                sequential.set(index);
            } else if (step.start == null) {
                at(0, index);
            } else if (step.start.has("at_ns")) {
                at(step.start.getLong("at_ns"), index);
            } else if (step.start.has("after")) {
                after(step.start.getLong("after"), index, indexes, step.id);
            } else {
                throw new UnsupportedRequestException("start " + step.start, "unknown to this driver");
            }
            if (step.hasLimit()) {
                if (step.limitAfter != 0 && !indexes.containsKey(step.limitAfter)) {
                    throw new JSONException("step " + step.id + " has a limit after step " + step.limitAfter + ", which is not an earlier step");
                }
                limits.put(index, indexes.getOrDefault(step.limitAfter, -1));
            }
            indexes.put(step.id, index);
        }
    }

    private void at(long delayNs, int index) {
        byTime.computeIfAbsent(delayNs, any -> new ArrayList<>()).add(index);
    }

    private void after(long id, int index, Map<Long, Integer> indexes, long waitingId) throws JSONException {
        if (id == 0) {
            at(0, index);
        } else if (indexes.containsKey(id)) {
            followers.computeIfAbsent(indexes.get(id), any -> new ArrayList<>()).add(index);
        } else {
            throw new JSONException("step " + waitingId + " waits for step " + id + ", which is not an earlier step");
        }
    }

    /** Records the start of the run, in ns of System.nanoTime. */
    void begin(long nowNs) {
        beginNs = nowNs;
    }

    /** Returns whether it is too late to start a step. */
    boolean isLate(int index, long nowNs) {
        Integer from = limits.get(index);
        if (from == null || from >= 0 && !ended.get(from)) {
            return false;
        }
        return nowNs - (from < 0 ? beginNs : endedNs[from]) > steps.get(index).limitNs;
    }

    /** Records that a step has ended and returns the indexes of those that start now. */
    List<Integer> stepEnded(int index, long nowNs) {
        endedNs[index] = nowNs;
        int prefix = ended.nextClearBit(0);
        ended.set(index);
        List<Integer> ready = new ArrayList<>(followers.getOrDefault(index, Collections.emptyList()));
        while (prefix < size && ended.get(prefix)) {
            prefix++;
            if (sequential.get(prefix)) {
                ready.add(prefix);
            }
        }
        return ready;
    }
}
