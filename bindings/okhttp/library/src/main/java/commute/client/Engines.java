package commute.client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The engines of this process: one for each way of checking certificates, the last few used. */
final class Engines {
    /** An engine has a thread and its connections. The least recently used one ends first. */
    private static final int MAX = 8;

    private static final Map<TrustContext, Engine> ENGINES = new LinkedHashMap<>(16, 0.75f, true);
    private static Settings settings = new Settings.Builder().build();
    private static int generation;
    private static int http3Percent = 100;
    private static boolean networkTold;
    /** Null if there is no network. */
    private static byte[] network;

    private static boolean metered;
    private static NetworkKind kind;

    private Engines() {}

    static synchronized void configure(Settings changed) {
        settings = changed;
    }

    static synchronized void setHttp3Percent(int percent) {
        generation++;
        http3Percent = percent;
        for (Engine engine : ENGINES.values()) {
            engine.setSwitches(generation, http3Percent);
        }
    }

    static synchronized void setNetwork(byte[] id, boolean isMetered, NetworkKind itsKind) {
        networkTold = true;
        network = id;
        metered = isMetered;
        kind = itsKind;
        for (Engine engine : ENGINES.values()) {
            engine.setNetwork(network, metered, kind);
        }
    }

    static synchronized String metricsCsv(MetricsArms arms) {
        StringBuilder all = new StringBuilder();
        for (Engine engine : ENGINES.values()) {
            String csv = engine.metricsCsv(arms);
            int rows = csv.indexOf('\n') + 1;
            all.append(csv, all.length() == 0 ? 0 : rows, csv.length());
        }
        return all.toString();
    }

    static void saveAll() {
        List<Engine> all;
        synchronized (Engines.class) {
            all = new ArrayList<>(ENGINES.values());
        }
        // Calls need not wait for the disk.
        for (Engine engine : all) {
            engine.save();
        }
    }

    static synchronized void endAll() {
        for (Engine engine : ENGINES.values()) {
            engine.end();
        }
        ENGINES.clear();
    }

    /** Returns the engine that checks certificates this way, and starts it if necessary. */
    static synchronized Engine of(TrustContext trust) {
        Engine present = ENGINES.get(trust);
        if (present != null) {
            return present;
        }
        if (ENGINES.size() >= MAX) {
            // First, since the one that follows may then have its memory.
            Iterator<Engine> eldest = ENGINES.values().iterator();
            eldest.next().end();
            eldest.remove();
        }
        String memory = settings.memory == null ? null : settings.memory.getPath();
        long handle = Native.startEngine(trust, settings.hints, memory, settings.chainPem, settings.keyPem);
        Engine engine = new Engine(handle, trust, settings.httpsRecords);
        if (generation > 0) {
            engine.setSwitches(generation, http3Percent);
        }
        if (networkTold) {
            engine.setNetwork(network, metered, kind);
        }
        ENGINES.put(trust, engine);
        return engine;
    }
}
