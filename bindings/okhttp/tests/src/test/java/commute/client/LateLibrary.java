package commute.client;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import okhttp3.Call;
import okhttp3.Request;
import okhttp3.Response;

/** A program whose library arrives while it makes calls on several threads. */
final class LateLibrary {
    public static void main(String[] arguments) throws Exception {
        File library = new File(arguments[0]);
        try (LabServer server = new LabServer()) {
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            AtomicBoolean stop = new AtomicBoolean();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            List<Thread> callers = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                Thread caller = new Thread(() -> {
                    while (!stop.get()) {
                        try {
                            call(client, server);
                        } catch (IOException | RuntimeException failed) {
                            failure.compareAndSet(null, failed);
                        }
                    }
                });
                caller.start();
                callers.add(caller);
            }
            System.out.println(call(client, server).code());
            try {
                Commute.load(library, "00");
            } catch (IOException refused) {
                System.out.println("wrong digest refused");
            }
            System.out.println(call(client, server).code());
            Commute.load(library, sha256(library.toPath()));
            System.out.println("loaded");
            System.out.println(call(client, server).byEngine() ? "by engine" : "plain");
            stop.set(true);
            for (Thread caller : callers) {
                caller.join();
            }
            System.out.println(failure.get() == null ? "no call failed" : failure.get().toString());
        }
        System.exit(0);
    }

    static RouteReport call(Call.Factory client, LabServer server) throws IOException {
        Request request = new Request.Builder().url(server.url("/bytes/1000")).build();
        try (Response response = client.newCall(request).execute()) {
            if (response.body().bytes().length != 1_000) {
                throw new IOException("the body is incomplete");
            }
            return Commute.report(response);
        }
    }

    static String sha256(Path file) throws Exception {
        StringBuilder text = new StringBuilder();
        for (byte b : MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file))) {
            text.append(String.format(Locale.ROOT, "%02x", b));
        }
        return text.toString();
    }
}
