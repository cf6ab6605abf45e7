package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.Headers;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.tls.HandshakeCertificates;
import okio.Buffer;
import okio.ByteString;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random answers whose truth is known (`crates/client/peers`). What a call makes of each must be true, and whatever it read
 * must be the beginning of what was sent.
 */
final class GeneratedTest {
    private static final int SEED = 1;
    /** For each version of HTTP. */
    private static final int CASES = 150;

    private static final List<Case> cases = new ArrayList<>();
    private static Process server;
    private static HandshakeCertificates trust;
    private static OkHttpClient plain;

    @BeforeAll
    static void start() throws Exception {
        Path pem = Files.createTempFile("commute-generated", ".pem");
        String program = new File(System.getProperty("commute.target"), "examples/serve_scripts").getPath();
        server = new ProcessBuilder(program, String.valueOf(SEED), String.valueOf(CASES), pem.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); !line.contains("\"ready\""); line = out.readLine()) {
            cases.add(new Case(line));
        }
        try (java.io.InputStream in = Files.newInputStream(pem)) {
            X509Certificate root = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
            trust = new HandshakeCertificates.Builder().addTrustedCertificate(root).build();
        }
        Files.delete(pem);
        // Before the first request, which starts the engine.
        Case overH3 = cases.stream().filter(one -> one.protocol.equals("h3")).findFirst().get();
        Commute.configure(new Settings.Builder().hintHttp3(overH3.url).build());
        // No connection is used twice, since what follows a malformed response may wait there.
        plain = builder().connectionPool(new ConnectionPool(0, 1, TimeUnit.SECONDS)).build();
    }

    @AfterAll
    static void stop() throws Exception {
        Commute.configure(new Settings.Builder().build());
        LenientOrigins.clear();
        server.destroyForcibly().waitFor();
    }

    @ParameterizedTest
    @ValueSource(strings = {"http/1.1", "h2", "h3"})
    void outcomesAreTrue(String protocol) throws Exception {
        List<Case> whole = new ArrayList<>();
        List<Case> broken = new ArrayList<>();
        for (Case one : cases) {
            if (one.protocol.equals(protocol) && !one.isKnown()) {
                (one.truth.equals("complete") ? whole : broken).add(one);
            }
        }
        assertTrue(whole.size() > CASES / 3 && broken.size() > CASES / 8, whole.size() + " and " + broken.size());
        // A malformed head over HTTP/1.1 makes the origin go without the engine from then on.
        broken.sort(Comparator.comparing(one -> one.truth.equals("malformed")));
        Call.Factory client = TestClients.withCommute(builder());
        // Only the engine supports HTTP/3.
        Call.Factory counter = protocol.equals("h3") ? client : plain;
        List<String> wrong = new ArrayList<>();
        int next = 0;
        for (Case one : whole) {
            one.check(client, counter, wrong);
            // Between whole ones, since two failures in a row would make the engine leave HTTP/3.
            if (next < broken.size() && !protocol.equals("http/1.1")) {
                broken.get(next++).check(client, counter, wrong);
            }
        }
        for (Case one : broken.subList(next, broken.size())) {
            one.check(client, counter, wrong);
        }
        assertEquals(Collections.emptyList(), wrong, wrong.size() + " outcomes are wrong");
    }

    private static OkHttpClient.Builder builder() {
        return TestClients.trusting(trust).readTimeout(5, TimeUnit.SECONDS);
    }

    /** What a call saw. */
    private static final class Seen {
        int status;
        final Buffer body = new Buffer();
        String trailers = "";
        Exception failure;
        boolean byEngine;
    }

    /** A request, and what the answer to it is. */
    private static final class Case {
        private static final Pattern PAIR = Pattern.compile("\\[\"([^\"]*)\",\"([^\"]*)\"]");

        final String protocol;
        final String url;
        final String countUrl;
        final String method;
        final String what;
        final String truth;
        final int requestBytes;
        final int status;
        final ByteString body;
        final String trailers;
        final int least;
        final int most;

        Case(String json) {
            protocol = text(json, "protocol");
            url = text(json, "url");
            countUrl = text(json, "count_url");
            method = text(json, "method");
            what = text(json, "what");
            truth = text(json, "truth");
            requestBytes = number(json, "request_bytes");
            status = number(json, "status");
            body = ByteString.decodeHex(text(json, "body_hex"));
            Headers.Builder fields = new Headers.Builder();
            Matcher pairs = PAIR.matcher(json.substring(json.indexOf("\"trailers\":")));
            while (pairs.find()) {
                fields.add(pairs.group(1), pairs.group(2));
            }
            trailers = World.headers(fields.build());
            least = number(json, "least_requests");
            most = number(json, "most_requests");
        }

        private static String text(String json, String key) {
            return find(json, "\"" + key + "\":\"([^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+)\"");
        }

        private static int number(String json, String key) {
            return Integer.parseInt(find(json, "\"" + key + "\":(\\d+)"));
        }

        private static String find(String json, String pattern) {
            Matcher found = Pattern.compile(pattern).matcher(json);
            assertTrue(found.find(), () -> pattern + " in " + json);
            return found.group(1);
        }

        /**
         * Reports whether the engine's outcome is known to be wrong (docs/client.md), or the engine takes another
         * route.
         */
        boolean isKnown() {
            boolean dropped = protocol.equals("h2") && (what.contains("304 with a length") || what.equals("a path"));
            // A request that is sent again may go over TCP, where nobody listens.
            boolean leaves = protocol.equals("h3") && most > 1;
            return dropped || leaves;
        }

        void check(Call.Factory client, Call.Factory counter, List<String> wrong) throws IOException {
            Seen seen = ask(client);
            String reason = judge(seen, counter);
            if (reason != null) {
                String outcome = seen.failure == null ? "status " + seen.status : seen.failure.toString();
                wrong.add(url + " " + protocol + " " + method + " " + what + ": " + reason + "; " + outcome);
            }
        }

        private Seen ask(Call.Factory client) {
            Seen seen = new Seen();
            RequestBody content = method.equals("POST") ? RequestBody.create(new byte[requestBytes], null) : null;
            Request request = new Request.Builder().url(url).method(method, content).build();
            try (Response response = client.newCall(request).execute()) {
                seen.status = response.code();
                RouteReport report = Commute.report(response);
                seen.byEngine = report != null && report.byEngine();
                while (response.body().source().read(seen.body, 8_192) != -1) {}
                seen.trailers = World.headers(response.trailers());
            } catch (IOException | RuntimeException failure) {
                // OkHttp throws the second kind, e.g. for a negative length.
                seen.failure = failure;
            }
            return seen;
        }

        private String judge(Seen seen, Call.Factory counter) throws IOException {
            ByteString got = seen.body.snapshot();
            if (truth.equals("malformed") && seen.failure == null && !seen.byEngine) {
                // OkHttp accepts some heads that the engine refuses.
                Seen other = ask(plain);
                boolean alike = other.failure == null && other.status == seen.status && other.body.equals(seen.body);
                return alike ? null : "OkHttp alone does not take it";
            }
            if (!body.startsWith(got)) {
                return "the body is not what was sent";
            }
            if (!truth.equals("complete")) {
                // Of a response without content the head is all that a call waits for.
                boolean isHead = method.equals("HEAD") || seen.status == 204 || seen.status == 304;
                boolean isAfterHead = truth.equals("truncated") || what.startsWith("a body ");
                if (seen.failure == null && !(isHead && isAfterHead)) {
                    return "a broken response is whole";
                }
            } else if (seen.failure != null) {
                return "a whole response is an error";
            } else if (!seen.byEngine) {
                return "not by the engine";
            } else if (seen.status != status || !got.equals(body) || !seen.trailers.equals(trailers)) {
                return "another response: " + got.size() + " of " + body.size() + " bytes, trailers " + seen.trailers;
            }
            int count = count(counter);
            // Where the engine refuses a head over HTTP/1.1, OkHttp asks once more with its own socket.
            boolean twice = protocol.equals("http/1.1") && truth.equals("malformed") && !method.equals("POST");
            int bound = twice ? most + 1 : most;
            boolean fits = least <= count && count <= bound;
            return fits ? null : "sent " + count + " times instead of " + least + " to " + bound;
        }

        private int count(Call.Factory client) throws IOException {
            Request request = new Request.Builder().url(countUrl).build();
            // OkHttp alone may lose a request on a connection whose end it has not seen yet.
            for (int tries = client == plain ? 5 : 1; ; tries--) {
                try (Response response = client.newCall(request).execute()) {
                    return Integer.parseInt(response.body().string());
                } catch (IOException failure) {
                    if (tries == 1) {
                        throw failure;
                    }
                }
            }
        }
    }
}
