package commute.driver;

import java.io.IOException;
import java.util.logging.LogManager;
import org.json.JSONException;
import org.json.JSONObject;

/** Drives one stack by version 2 of commute's driver protocol (docs/driver-protocol.md). */
public final class Driver {
    private final Stack stack;
    private final LabChannel lab;
    /** Null if exchanges are not supported. */
    private final Messages messages;
    /** Null until first requested, because loading may fail. */
    private StackInfo info;
    private Setup setup;
    private Stack.Session session;

    private Driver(Stack stack, Messages messages, LabChannel lab) {
        this.stack = stack;
        this.messages = messages;
        this.lab = lab;
    }

    /** Makes libraries unpack their native parts into TMPDIR, which Java itself ignores. */
    public static void useTmpdir() {
        String folder = System.getenv("TMPDIR");
        if (folder != null) {
            System.setProperty("java.io.tmpdir", folder);
        }
    }

    /**
     * Runs the driver as a program until the lab sends close. Then it exits, because library threads
     * may still be running.
     */
    public static void run(Stack stack, Messages messages) {
        // Logging would cost time during calls.
        LogManager.getLogManager().reset();
        try (LabChannel lab = LabChannel.fromEnvironment(System.getenv())) {
            serve(stack, messages, lab);
        } catch (IOException disconnected) {
            System.err.println("commute-driver: " + disconnected.getMessage());
            System.exit(1);
        }
        System.exit(0);
    }

    /**
     * Answers the lab's requests until it closes or disconnects. {@code messages} is null if exchanges
     * are not supported.
     */
    public static void serve(Stack stack, Messages messages, LabChannel lab) throws IOException {
        Driver driver = new Driver(stack, messages, lab);
        try {
            String line = lab.receive();
            while (line != null && driver.answer(line)) {
                line = lab.receive();
            }
        } finally {
            driver.closeSession();
        }
    }

    /** Answers one line. Returns false after close. */
    private boolean answer(String line) throws IOException {
        JSONObject answer = new JSONObject();
        try {
            try {
                JSONObject request = new JSONObject(line);
                switch (request.getString("type")) {
                    case "hello":
                        lab.send(info().hello(lab.clock, messages));
                        break;
                    case "setup":
                        setUp(new Setup(request, info(), messages, lab.credentials));
                        lab.send(answer.put("type", "ready"));
                        break;
                    case "run":
                        if (session == null) {
                            throw new IllegalStateException("run came before setup");
                        }
                        new Run(session, info(), setup, request.getJSONArray("steps")).execute(lab);
                        lab.send(answer.put("type", "done"));
                        break;
                    case "close":
                        return false;
                    default:
                        throw new UnsupportedRequestException("request " + request.getString("type"), "unknown to this driver");
                }
            } catch (UnsupportedRequestException refusal) {
                lab.send(answer.put("type", "unsupported").put("what", refusal.what).put("reason", refusal.getMessage()));
            } catch (JSONException malformed) {
                lab.send(failed("not a request: " + malformed.getMessage()));
            } catch (Exception failure) {
                lab.send(failed(ErrorClassifier.describe(failure)));
            }
        } catch (JSONException impossible) {
            throw new AssertionError(impossible);
        }
        return true;
    }

    private StackInfo info() throws Exception {
        if (info == null) {
            info = stack.info();
        }
        return info;
    }

    private static JSONObject failed(String reason) throws JSONException {
        return new JSONObject().put("type", "failed").put("reason", reason);
    }

    private void setUp(Setup newSetup) throws Exception {
        closeSession();
        if (newSetup.warmupUrl != null) {
            warmUp(newSetup);
        }
        setup = newSetup;
        session = stack.open(newSetup);
    }

    /** Makes small downloads from another origin, over a connection and tickets of their own. */
    private void warmUp(Setup newSetup) throws Exception {
        Setup warmupSetup = newSetup.withUrl(newSetup.warmupUrl);
        Stack.Session warmupSession = stack.open(warmupSetup);
        try {
            Run.warmUp(warmupSession, warmupSetup, newSetup.warmupCalls);
        } finally {
            warmupSession.close();
        }
    }

    private void closeSession() {
        if (session != null) {
            try {
                session.close();
            } catch (Exception ignored) {
                // The session is discarded either way.
            }
            session = null;
        }
    }
}
