package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.List;

/** Runs a case with plain OkHttp and with commute, and compares all that could be seen. */
final class Differential {
    private static final int PLAIN_ATTEMPTS = 5;

    private Differential() {}

    /** What a case does. It is given a server that has not been started. */
    interface Scenario {
        void run(World world) throws Exception;
    }

    /**
     * Fails unless the engine does what plain OkHttp does. What that does may hang on which of its threads is first, e.g.
     * whether a broken stream still hands out its head. So it may try several times.
     */
    static void same(World.Wire wire, Scenario scenario, Difference... differences) throws Exception {
        List<String> plain = transcript(World.Carrier.PLAIN, wire, scenario, differences);
        List<String> engine = transcript(World.Carrier.ENGINE, wire, scenario, differences);
        for (int attempt = 1; attempt < PLAIN_ATTEMPTS && !plain.equals(engine); attempt++) {
            plain = transcript(World.Carrier.PLAIN, wire, scenario, differences);
        }
        for (int i = 0; i < Math.max(plain.size(), engine.size()); i++) {
            String expected = i < plain.size() ? plain.get(i) : "nothing more";
            String actual = i < engine.size() ? engine.get(i) : "nothing more";
            if (!expected.equals(actual)) {
                fail("line " + i + "\n  plain:  " + expected + "\n  engine: " + actual + "\n  plain:  " + plain
                        + "\n  engine: " + engine);
            }
        }
    }

    /** Runs a case whose outcomes differ, on purpose, and compares what it says with what each of them must be. */
    static void differ(Difference difference, World.Wire wire, Scenario scenario, String plain, String engine)
            throws Exception {
        assertEquals(plain, said(World.Carrier.PLAIN, wire, scenario), difference + ", plainly");
        assertEquals(engine, said(World.Carrier.ENGINE, wire, scenario), difference + ", with commute");
    }

    private static String said(World.Carrier carrier, World.Wire wire, Scenario scenario) throws Exception {
        try (World world = new World(carrier, wire)) {
            scenario.run(world);
            return String.join(", ", world.transcript);
        }
    }

    private static List<String> transcript(
            World.Carrier carrier, World.Wire wire, Scenario scenario, Difference... differences) throws Exception {
        try (World world = new World(carrier, wire)) {
            scenario.run(world);
            List<String> lines = world.transcript;
            assertFalse(lines.isEmpty(), "nothing was seen");
            for (Difference difference : differences) {
                lines = difference.without(lines);
            }
            return lines;
        }
    }
}
