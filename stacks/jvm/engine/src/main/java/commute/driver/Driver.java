package commute.driver;

import java.io.IOException;
import java.util.logging.LogManager;
import org.json.JSONException;
import org.json.JSONObject;

/** Drives one stack by commute's driver protocol, version 2 (docs/driver-protocol.md). */
public final class Driver {
    private final Stack stack;
    private final Lab lab;
    /** Null when exchanges are not done. */
    private final Messages messages;
    /** Null until first asked for, which may fail. */
    private Identity identity;
    private Setup setup;
    private Stack.Session session;

    private Driver(Stack stack, Messages messages, Lab lab) {
        this.stack = stack;
        this.messages = messages;
        this.lab = lab;
    }

    /** Libraries unpack their native parts there. Java does not look at TMPDIR by itself. */
    public static void keepToTemporaryFolder() {
        String folder = System.getenv("TMPDIR");
        if (folder != null) {
            System.setProperty("java.io.tmpdir", folder);
        }
    }

    /** A program's whole life: until the lab says close. Library threads may still be about. */
    public static void main(Stack stack, Messages messages) {
        // Nothing is logged while calls run.
        LogManager.getLogManager().reset();
        try (Lab lab = Lab.of(System.getenv())) {
            follow(stack, messages, lab);
        } catch (IOException gone) {
            System.err.println("commute-driver: " + gone.getMessage());
            System.exit(1);
        }
        System.exit(0);
    }

    /** Answers the lab's lines until it closes or goes. Without messages there are no exchanges. */
    public static void follow(Stack stack, Messages messages, Lab lab) throws IOException {
        Driver driver = new Driver(stack, messages, lab);
        try {
            String line = lab.hear();
            while (line != null && driver.answer(line)) {
                line = lab.hear();
            }
        } finally {
            driver.closeSession();
        }
    }

    /** False when that was the last word. */
    private boolean answer(String line) throws IOException {
        JSONObject answer = new JSONObject();
        try {
            try {
                JSONObject request = new JSONObject(line);
                switch (request.getString("type")) {
                    case "hello":
                        lab.say(identity().hello(lab.clock, messages));
                        break;
                    case "setup":
                        setUp(new Setup(request, identity(), messages, lab.credentials));
                        lab.say(answer.put("type", "ready"));
                        break;
                    case "run":
                        if (session == null) {
                            throw new IllegalStateException("run came before setup");
                        }
                        new Run(session, identity(), setup, request.getJSONArray("steps")).follow(lab);
                        lab.say(answer.put("type", "done"));
                        break;
                    case "close":
                        return false;
                    default:
                        throw new Unsupported("request " + request.getString("type"), "this driver does not know it");
                }
            } catch (Unsupported refusal) {
                lab.say(answer.put("type", "unsupported").put("what", refusal.what).put("reason", refusal.getMessage()));
            } catch (JSONException malformed) {
                lab.say(failed("not a request: " + malformed.getMessage()));
            } catch (Exception failure) {
                lab.say(failed(Failure.words(failure)));
            }
        } catch (JSONException impossible) {
            throw new AssertionError(impossible);
        }
        return true;
    }

    private Identity identity() throws Exception {
        if (identity == null) {
            identity = stack.identity();
        }
        return identity;
    }

    private static JSONObject failed(String reason) throws JSONException {
        return new JSONObject().put("type", "failed").put("reason", reason);
    }

    private void setUp(Setup asked) throws Exception {
        closeSession();
        if (asked.warmupUrl != null) {
            warmUp(asked);
        }
        setup = asked;
        session = stack.open(asked);
    }

    /** Small downloads from another origin, with connection and tickets of their own. */
    private void warmUp(Setup asked) throws Exception {
        Setup elsewhere = asked.at(asked.warmupUrl);
        Stack.Session warmup = stack.open(elsewhere);
        try {
            Run.warmUp(warmup, elsewhere, asked.warmupCalls);
        } finally {
            warmup.close();
        }
    }

    private void closeSession() {
        if (session != null) {
            try {
                session.close();
            } catch (Exception ignored) {
                // It is thrown away either way.
            }
            session = null;
        }
    }
}
