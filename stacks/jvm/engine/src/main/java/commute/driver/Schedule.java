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

    Schedule(List<Step> steps) throws JSONException, UnsupportedRequestException {
        size = steps.size();
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

    /** Records that a step has ended and returns the indexes of those that start now. */
    List<Integer> stepEnded(int index) {
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
