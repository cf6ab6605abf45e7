package commute.driver;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONException;

/** Which steps start when: by the run's begin, or by the end of others. */
final class Schedule {
    /** Places of steps by the time after the run's begin at which they start. */
    final TreeMap<Long, List<Integer>> byTime = new TreeMap<>();

    private final int size;
    private final Map<Integer, List<Integer>> followers = new HashMap<>();
    /** Steps that wait for all before them. */
    private final BitSet sequential = new BitSet();
    private final BitSet ended = new BitSet();

    Schedule(List<Step> steps) throws JSONException, Unsupported {
        size = steps.size();
        Map<Long, Integer> places = new HashMap<>();
        long before = 0;
        for (int place = 0; place < size; place++) {
            Step step = steps.get(place);
            if (step.id <= before) {
                throw new JSONException("step " + step.id + " comes after step " + before + ": ids start at 1 and grow");
            }
            before = step.id;
            if (step.start == null && place > 0) {
                sequential.set(place);
            } else if (step.start == null) {
                at(0, place);
            } else if (step.start.has("at_ns")) {
                at(step.start.getLong("at_ns"), place);
            } else if (step.start.has("after")) {
                after(step.start.getLong("after"), place, places, step.id);
            } else {
                throw new Unsupported("start " + step.start, "this driver does not know it");
            }
            places.put(step.id, place);
        }
    }

    private void at(long delayNs, int place) {
        byTime.computeIfAbsent(delayNs, any -> new ArrayList<>()).add(place);
    }

    private void after(long id, int place, Map<Long, Integer> places, long own) throws JSONException {
        if (id == 0) {
            at(0, place);
        } else if (places.containsKey(id)) {
            followers.computeIfAbsent(places.get(id), any -> new ArrayList<>()).add(place);
        } else {
            throw new JSONException("step " + own + " waits for step " + id + ", which is not an earlier step");
        }
    }

    /** This step has ended: the places that start now. */
    List<Integer> ended(int place) {
        int prefix = ended.nextClearBit(0);
        ended.set(place);
        List<Integer> ready = new ArrayList<>(followers.getOrDefault(place, Collections.emptyList()));
        while (prefix < size && ended.get(prefix)) {
            prefix++;
            if (sequential.get(prefix)) {
                ready.add(prefix);
            }
        }
        return ready;
    }
}
