package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.MediaType;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.ByteString;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many calls at once. */
final class ConcurrencyTest {
    private static final int THREADS = 64;
    private static final int CALLS = 1_000;

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    @Timeout(value = 150, unit = TimeUnit.SECONDS)
    void aThousandCallsOnSixtyFourThreads(int httpVersion) throws Exception {
        try (LabServer server = new LabServer()) {
            Settings.Builder settings = new Settings.Builder();
            Commute.configure(httpVersion == 3 ? settings.hintHttp3(server.url("/")).build() : settings.build());
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            Request request = new Request.Builder().url(server.url("/bytes/20000")).build();
            if (httpVersion == 3) {
                TestClients.awaitHttp3(client, request).body().bytes();
            } else {
                assertEquals(2, version(client, request));
            }
            long before = Thread.activeCount();
            ExecutorService threads = Executors.newFixedThreadPool(THREADS);
            List<Future<Integer>> versions = new ArrayList<>();
            int byHttp3 = 0;
            for (int i = 0; i < CALLS; i++) {
                versions.add(threads.submit(() -> version(client, request)));
            }
            for (Future<Integer> version : versions) {
                byHttp3 += version.get(60, TimeUnit.SECONDS) == 3 ? 1 : 0;
            }
            // With a hint some go by HTTP/2 so that the engine learns which is faster.
            assertTrue(httpVersion == 3 ? byHttp3 > 0 : byHttp3 == 0, byHttp3 + " calls by HTTP/3");
            threads.shutdown();
            assertTrue(threads.awaitTermination(10, TimeUnit.SECONDS));
            // OkHttp has a thread or two of its own; those that close its idle sockets end after 60 s without work.
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(80);
            while (Thread.activeCount() > before + 2 && System.nanoTime() < deadline) {
                Thread.sleep(10);
            }
            assertTrue(Thread.activeCount() <= before + 2, Thread.getAllStackTraces().keySet().toString());
        } finally {
            Commute.configure(new Settings.Builder().build());
        }
    }

    @Test
    void manyCallsThatAreEnqueued() throws Exception {
        try (LabServer server = new LabServer()) {
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            CountDownLatch left = new CountDownLatch(200);
            AtomicInteger bytes = new AtomicInteger();
            for (int i = 0; i < 200; i++) {
                client.newCall(new Request.Builder().url(server.url("/bytes/" + i)).build()).enqueue(new Callback() {
                    @Override
                    public void onResponse(Call call, Response response) throws java.io.IOException {
                        bytes.addAndGet(response.body().bytes().length);
                        left.countDown();
                    }

                    @Override
                    public void onFailure(Call call, java.io.IOException failure) {
                        failure.printStackTrace();
                        left.countDown();
                    }
                });
            }
            assertTrue(left.await(60, TimeUnit.SECONDS));
            assertEquals(199 * 200 / 2, bytes.get());
        }
    }

    /** Buffers and sockets are moved and finalized under the calls. */
    @Test
    void callsDuringManyGarbageCollections() throws Exception {
        try (LabServer server = new LabServer()) {
            Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
            AtomicBoolean done = new AtomicBoolean();
            Thread storm = new Thread(() -> {
                while (!done.get()) {
                    System.gc();
                }
            });
            ExecutorService threads = Executors.newFixedThreadPool(8);
            storm.start();
            try {
                List<Future<?>> calls = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    byte[] body = HttpTest.bytes(i * 1_000);
                    calls.add(threads.submit(() -> upload(client, server, body)));
                }
                for (Future<?> call : calls) {
                    call.get(60, TimeUnit.SECONDS);
                }
            } finally {
                done.set(true);
                storm.join();
                threads.shutdown();
            }
        }
    }

    private static Object upload(Call.Factory client, LabServer server, byte[] body) throws Exception {
        RequestBody octets = RequestBody.create(MediaType.get("application/octet-stream"), body);
        Request request = new Request.Builder().url(server.url("/upload")).put(octets).build();
        try (Response response = client.newCall(request).execute()) {
            String answer = response.body().string();
            assertTrue(Commute.report(response).byEngine());
            assertTrue(answer.contains("\"bytes\":" + body.length), answer);
            assertTrue(answer.contains(ByteString.of(body).sha256().hex()), answer);
        }
        return null;
    }

    /** An engine that nobody uses any more ends, with its thread, when others take its place. */
    @Test
    void enginesOfManyClientsDoNotPileUp() throws Exception {
        try (LabServer server = new LabServer()) {
            for (int i = 0; i < 20; i++) {
                Call.Factory client = TestClients.withCommute(TestClients.trusting(server.trust()));
                version(client, new Request.Builder().url(server.url("/health")).build());
            }
            assertTrue(EngineThreads.await(8), "more than 8 engines");
        }
    }

    private static int version(Call.Factory client, Request request) throws Exception {
        try (Response response = client.newCall(request).execute()) {
            response.body().bytes();
            return Commute.report(response).httpVersion();
        }
    }
}
