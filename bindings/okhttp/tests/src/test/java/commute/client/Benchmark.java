package commute.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Locale;
import okhttp3.Call;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/**
 * Measures CPU and time per warm request, plainly and with commute, and how long the engine takes to
 * start. Not a test: {@code bindings/okhttp/benchmark}.
 */
final class Benchmark {
    private static final int WARM_UP = 3_000;
    private static final int REQUESTS = 3_000;
    private static final int ROUNDS = 5;
    /** Linux counts CPU time in these. */
    private static final double TICKS_PER_S = 100;

    private Benchmark() {}

    public static void main(String[] arguments) throws Exception {
        try (LabServer server = new LabServer()) {
            long began = System.nanoTime();
            String missing = Commute.missingLibrary();
            if (missing != null) {
                throw new IOException(missing);
            }
            double loadedMs = (System.nanoTime() - began) / 1e6;
            Commute.configure(new Settings.Builder().build());
            Call.Factory h2 = Doors.withCommute(Doors.trusting(server.trust()));
            TrustContext trust = new TrustContext(
                    server.trust().trustManager(), (host, session) -> true, okhttp3.CertificatePinner.DEFAULT);
            began = System.nanoTime();
            Engines.of(trust);
            double startedMs = (System.nanoTime() - began) / 1e6;
            trust = new TrustContext(
                    server.trust().trustManager(), (host, session) -> false, okhttp3.CertificatePinner.DEFAULT);
            began = System.nanoTime();
            Engines.of(trust);
            double secondMs = (System.nanoTime() - began) / 1e6;
            began = System.nanoTime();
            send(h2, get(server, 1_000));
            double firstMs = (System.nanoTime() - began) / 1e6;
            Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
            Call.Factory h3 = Doors.withCommute(Doors.trusting(server.trust()));
            OkHttpClient plain = Doors.trusting(server.trust()).build();
            began = System.nanoTime();
            send(plain, get(server, 1_000));
            System.out.printf(Locale.ROOT,
                    "library loaded in %.1f ms, engine started in %.1f ms and a second one in %.1f ms, first request %.0f ms by the engine, %.0f ms"
                            + " plainly afterwards%n",
                    loadedMs, startedMs, secondMs, firstMs, (System.nanoTime() - began) / 1e6);
            for (int bytes : new int[] {1_000, 100_000}) {
                Request request = get(server, bytes);
                for (int round = 0; round < ROUNDS; round++) {
                    measure("plain h2", plain, request, bytes);
                    measure("commute h2", h2, request, bytes);
                    measure("commute auto", h3, request, bytes);
                }
            }
            Request upload = new Request.Builder()
                    .url(server.url("/upload"))
                    .put(RequestBody.create(null, new byte[3_000_000]))
                    .build();
            for (Call.Factory client : new Call.Factory[] {plain, h2, h3, plain, h2, h3}) {
                began = System.nanoTime();
                for (int i = 0; i < 20; i++) {
                    send(client, upload);
                }
                System.out.printf(Locale.ROOT, "upload of 3 MB: %.1f ms%n", (System.nanoTime() - began) / 20e6);
            }
        }
        System.exit(0);
    }

    private static void measure(String name, Call.Factory client, Request request, int bytes) throws Exception {
        int warmUp = bytes > 10_000 ? WARM_UP / 10 : WARM_UP;
        int requests = bytes > 10_000 ? REQUESTS / 5 : REQUESTS;
        for (int i = 0; i < warmUp; i++) {
            send(client, request);
        }
        double cpu = cpuS();
        long began = System.nanoTime();
        for (int i = 0; i < requests; i++) {
            send(client, request);
        }
        System.out.printf(Locale.ROOT, "%-12s %6d bytes: %6.0f us CPU, %6.0f us each%n", name, bytes,
                (cpuS() - cpu) / requests * 1e6, (System.nanoTime() - began) / 1e3 / requests);
    }

    private static Request get(LabServer server, int bytes) {
        return new Request.Builder().url(server.url("/bytes/" + bytes)).build();
    }

    private static void send(Call.Factory client, Request request) throws IOException {
        try (Response response = client.newCall(request).execute()) {
            response.body().bytes();
            if (!response.isSuccessful()) {
                throw new IOException("status " + response.code());
            }
        }
    }

    /** CPU time of this process, the engine's threads included. */
    private static double cpuS() throws IOException {
        Path stat = Paths.get("/proc/self/stat");
        String[] fields = new String(Files.readAllBytes(stat), StandardCharsets.US_ASCII).replaceFirst(".*\\) ", "").split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_S;
    }
}
