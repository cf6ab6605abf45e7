package commute.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import okhttp3.Call;
import okhttp3.CertificatePinner;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Measures what commute costs on the JVM, beside plain OkHttp: the start of an engine, CPU per warm request,
 * how long a cancelled call takes to return, and memory. Not a test: {@code bindings/okhttp/benchmark}.
 */
final class Benchmark {
    private static final int ROUNDS = 7;
    private static final int CANCELLED = 200;
    private static final int THREADS = 64;
    /** Linux counts CPU time in these. */
    private static final double TICKS_PER_S = 100;

    private final LabServer server;
    private final Map<String, Call.Factory> clients = new LinkedHashMap<>();

    private Benchmark(LabServer server) {
        this.server = server;
    }

    public static void main(String[] arguments) throws Exception {
        try (LabServer server = new LabServer()) {
            Benchmark benchmark = new Benchmark(server);
            benchmark.start();
            benchmark.clients();
            // Kilobytes, warm-up, requests of each round. While the JVM compiles, its compilers take most of the CPU time.
            benchmark.cpu(1, 20_000, 2_000);
            benchmark.cpu(1_000, 500, 100);
            benchmark.cancel();
            benchmark.memory();
            System.out.println("load of the machine: "
                    + new String(Files.readAllBytes(Paths.get("/proc/loadavg")), StandardCharsets.US_ASCII).trim());
        }
        System.exit(0);
    }

    /** Measures the start of an engine, first of all, while nothing has been loaded but what OkHttp itself needs. */
    private void start() throws Exception {
        TestClients.trusting(server.trust()).build();
        long began = System.nanoTime();
        String missing = Commute.missingLibrary();
        if (missing != null) {
            throw new IOException(missing);
        }
        System.out.printf(Locale.ROOT, "library loaded in %.1f ms, engines started in", msSince(began));
        for (int i = 0; i < 3; i++) {
            TrustContext trust =
                    new TrustContext(server.trust().trustManager(), (host, session) -> true, CertificatePinner.DEFAULT);
            began = System.nanoTime();
            Engines.of(trust);
            System.out.printf(Locale.ROOT, " %.1f ms", msSince(began));
        }
        System.out.println();
    }

    private void clients() throws Exception {
        clients.put("plain h2", TestClients.trusting(server.trust()).build());
        // A client's engine is made when it is first used.
        Commute.configure(new Settings.Builder().build());
        clients.put("commute h2", TestClients.withCommute(TestClients.trusting(server.trust())));
        send("commute h2", 1_000);
        Commute.configure(new Settings.Builder().hintHttp3(server.url("/")).build());
        clients.put("commute auto", TestClients.withCommute(TestClients.trusting(server.trust())));
        send("commute auto", 1_000);
    }

    private void cpu(int kilobytes, int warmUp, int requests) throws Exception {
        Map<String, List<Double>> cpuUs = new LinkedHashMap<>();
        Map<String, List<Double>> eachUs = new LinkedHashMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (String name : clients.keySet()) {
                for (int i = 0; round == 0 && i < warmUp; i++) {
                    send(name, kilobytes * 1_000);
                }
                // Plain OkHttp must not gain from what commute's calls left in okio's watchdog.
                Thread.sleep(3 * WatchdogTimeout.PERIOD_MS);
                double cpu = cpuS();
                long began = System.nanoTime();
                for (int i = 0; i < requests; i++) {
                    send(name, kilobytes * 1_000);
                }
                eachUs.computeIfAbsent(name, any -> new ArrayList<>()).add(msSince(began) * 1e3 / requests);
                cpuUs.computeIfAbsent(name, any -> new ArrayList<>()).add((cpuS() - cpu) / requests * 1e6);
            }
        }
        double plain = quantile(cpuUs.get("plain h2"), 0.5);
        for (String name : clients.keySet()) {
            double cpu = quantile(cpuUs.get(name), 0.5);
            System.out.printf(Locale.ROOT, "%-12s GET of %d kB: %.0f us CPU, %.2f of plain; %.0f us each%n", name, kilobytes,
                    cpu, cpu / plain, quantile(eachUs.get(name), 0.5));
        }
    }

    /**
     * Measures from {@code Call.cancel} until the thread that makes the call goes on. The clients take turns, as the
     * load varies.
     */
    private void cancel() throws Exception {
        Random random = new Random(7);
        Map<String, List<Double>> tookMs = new LinkedHashMap<>();
        for (int moment = 0; moment < CANCELLED; moment++) {
            long afterNs = random.nextInt(20_000_000);
            for (String name : clients.keySet()) {
                tookMs.computeIfAbsent(name, any -> new ArrayList<>()).add(cancel(name, afterNs));
            }
        }
        for (String name : clients.keySet()) {
            List<Double> times = tookMs.get(name);
            System.out.printf(Locale.ROOT, "%-12s cancelled at %d moments: returns in %.2f ms, p95 %.2f, at most %.2f%n",
                    name, CANCELLED, quantile(times, 0.5), quantile(times, 0.95), quantile(times, 1));
        }
    }

    private double cancel(String name, long afterNs) throws Exception {
        Request request = new Request.Builder().url(server.url("/bytes/50000000")).build();
        Call call = clients.get(name).newCall(request);
        long[] cancelled = new long[1];
        Thread canceller = new Thread(() -> {
            long end = System.nanoTime() + afterNs;
            while (System.nanoTime() < end) {
                Thread.yield();
            }
            cancelled[0] = System.nanoTime();
            call.cancel();
        });
        canceller.start();
        try (Response response = call.execute()) {
            response.body().source().skip(50_000_000);
        } catch (IOException expected) {
            long ended = System.nanoTime();
            canceller.join();
            return (ended - cancelled[0]) / 1e6;
        }
        // All of the body came before its canceller got a processor.
        canceller.join();
        return cancel(name, afterNs);
    }

    private void memory() throws Exception {
        for (String name : clients.keySet()) {
            StringBuilder text = new StringBuilder();
            for (int thousand = 0; thousand < 5; thousand++) {
                ExecutorService threads = Executors.newFixedThreadPool(THREADS);
                List<Future<?>> calls = new ArrayList<>();
                for (int i = 0; i < 1_000; i++) {
                    calls.add(threads.submit(() -> {
                        send(name, 20_000);
                        return null;
                    }));
                }
                for (Future<?> call : calls) {
                    call.get();
                }
                threads.shutdown();
                System.gc();
                text.append(String.format(Locale.ROOT, " %.1f", rssKb() / 1024.0));
            }
            System.out.printf("%-12s RSS after each 1,000 requests on %d threads, MiB:%s%n", name, THREADS, text);
        }
    }

    private void send(String client, int bytes) throws IOException {
        Request request = new Request.Builder().url(server.url("/bytes/" + bytes)).build();
        try (Response response = clients.get(client).newCall(request).execute()) {
            if (response.body().bytes().length != bytes) {
                throw new IOException("status " + response.code());
            }
            RouteReport report = Commute.report(response);
            if (report != null && !report.byEngine()) {
                throw new IOException(report.why());
            }
        }
    }

    private static double msSince(long beganNs) {
        return (System.nanoTime() - beganNs) / 1e6;
    }

    private static double quantile(List<Double> values, double part) {
        List<Double> sorted = new ArrayList<>(values);
        Collections.sort(sorted);
        return sorted.get((int) Math.round(part * (sorted.size() - 1)));
    }

    /** Returns the CPU time of this process, the engine's threads included. */
    private static double cpuS() throws IOException {
        String stat = new String(Files.readAllBytes(Paths.get("/proc/self/stat")), StandardCharsets.US_ASCII);
        String[] fields = stat.replaceFirst(".*\\) ", "").split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_S;
    }

    private static long rssKb() throws IOException {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("/proc/self/status has no VmRSS");
    }
}
