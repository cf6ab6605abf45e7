package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.SocketPolicy;
import okio.Buffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Servers and networks that fail, and time-outs. */
final class FailureTest {
    private static final RequestBody TEXT = RequestBody.create(MediaType.get("text/plain"), "body");

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void noServerListens(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start();
            Request request = world.request("/").build();
            int port = world.server.getPort();
            world.server.shutdown();
            // No other program gets its port.
            try (Socket held = new Socket()) {
                held.setReuseAddress(true);
                held.bind(new InetSocketAddress(InetAddress.getByName("localhost"), port));
                world.call(world.client(), request);
            }
        }, Difference.LATE_CONNECT);
    }

    @Test
    void aNameThatDoesNotExist() throws Exception {
        Differential.same(World.Wire.H2, world -> world.call(
                world.client(), new Request.Builder().url("https://nowhere.invalid/").build()));
    }

    @Test
    void aServerThatClosesEveryConnectionAtOnce() throws Exception {
        Differential.same(World.Wire.H2, world -> {
            try (RawServer server = new RawServer(Socket::close)) {
                world.call(world.client(), server.request());
            }
        }, Difference.LATE_CONNECT);
    }

    @Test
    void aServerThatSpeaksNoTls() throws Exception {
        byte[] words = "220 mail.example ESMTP\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        Differential.same(World.Wire.H2, world -> {
            try (RawServer server = new RawServer(socket -> socket.getOutputStream().write(words))) {
                world.call(world.client(), server.request());
            }
        }, Difference.LATE_CONNECT);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theConnectionBreaksAfterAPost(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(
                    new MockResponse().setSocketPolicy(SocketPolicy.DISCONNECT_AFTER_REQUEST), Mock.ok("never"));
            world.call(world.client(), world.request("/").post(TEXT).build());
            world.say("-> server: " + world.server.getRequestCount());
        }, Difference.BROKEN_STREAM);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aPostIsSentOnceOnlyThoughItsConnectionWasUsedBefore(World.Wire wire) throws Exception {
        Differential.differ(Difference.NO_SECOND_POST, wire, world -> {
            world.start().enqueue(
                    Mock.ok("first"),
                    new MockResponse().setSocketPolicy(SocketPolicy.DISCONNECT_AFTER_REQUEST),
                    Mock.ok("second"));
            Call.Factory client = world.client();
            world.outcome(client, world.request("/").build());
            world.outcome(client, world.request("/").post(TEXT).build());
        }, "200 first after 1, 200 second after 3", "200 first after 1, broken after 2");
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aGetIsSentAgainThoughItsConnectionIsNew(World.Wire wire) throws Exception {
        Differential.differ(Difference.ENGINE_REPEATS, wire, world -> {
            world.start().enqueue(
                    new MockResponse().setSocketPolicy(SocketPolicy.DISCONNECT_AFTER_REQUEST), Mock.ok("second"));
            world.outcome(world.client(), world.request("/").build());
        }, "broken after 1", "200 second after 2");
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void aGetIsSentAgainWhenItsConnectionBreaks(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(
                    Mock.ok("first"),
                    new MockResponse().setSocketPolicy(SocketPolicy.DISCONNECT_AFTER_REQUEST),
                    Mock.ok("second"));
            Call.Factory client = world.client();
            world.call(client, world.request("/").build());
            world.call(client, world.request("/").build());
            world.say("-> server: " + world.server.getRequestCount());
        }, Difference.ENGINE_REPEATS);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theConnectionBreaksInABody(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse response = Mock.response(200).setBody(new Buffer().write(HttpTest.bytes(500_000)));
            world.start().enqueue(
                    response.setSocketPolicy(SocketPolicy.DISCONNECT_DURING_RESPONSE_BODY), Mock.ok("again"));
            Call.Factory client = world.client();
            try (Response cut = client.newCall(world.request("/").build()).execute()) {
                world.say("-> " + cut.code());
                cut.body().bytes();
            } catch (IOException failure) {
                world.say("-> " + World.describe(failure));
            }
            world.recorder.take();
            world.call(client, world.request("/").build());
        }, Difference.BROKEN_STREAM, Difference.CONNECTION_AFTER_FAILURE);
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theConnectionBreaksInAnUpload(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(
                    Mock.ok("never").setSocketPolicy(SocketPolicy.DISCONNECT_DURING_REQUEST_BODY), Mock.ok("again"));
            Call.Factory client = world.client();
            try (Response response = client.newCall(
                            world.request("/").post(UploadTest.body(3_000_000, 3_000_000, true)).build())
                    .execute()) {
                world.say("-> " + response.code());
            } catch (IOException failure) {
                world.say("-> failed");
            }
            world.recorder.take();
        });
    }

    @ParameterizedTest
    @EnumSource(value = World.Wire.class, names = "H2")
    void aStreamIsReset(World.Wire wire) throws Exception {
        // CANCEL and INTERNAL_ERROR (RFC 9113 section 7): the server may have acted.
        for (int code : new int[] {8, 2}) {
            Differential.same(wire, world -> {
                MockResponse reset = new MockResponse().setSocketPolicy(SocketPolicy.RESET_STREAM_AT_START);
                world.start().enqueue(reset.setHttp2ErrorCode(code), Mock.ok("again"));
                Call.Factory client = world.client();
                world.call(client, world.request("/").post(TEXT).build());
                world.call(client, world.request("/").build());
            }, Difference.BROKEN_STREAM, Difference.CONNECTION_AFTER_FAILURE);
        }
    }

    @ParameterizedTest
    @EnumSource(value = World.Wire.class, names = "H1")
    void whatIsNoResponse(World.Wire wire) throws Exception {
        for (String status : new String[] {"HTP/1.1 200 OK", "HTTP/1.1 abc OK", "220 mail.example"}) {
            Differential.same(wire, world -> {
                world.start().enqueue(new MockResponse().setStatus(status));
                world.call(world.client(), world.request("/").post(TEXT).build());
            });
        }
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theServerDoesNotAnswerInTime(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE), Mock.ok("again"));
            Call.Factory client = world.client(world.builder().readTimeout(300, TimeUnit.MILLISECONDS));
            world.call(client, world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theBodyDoesNotComeInTime(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            MockResponse late = Mock.ok("late").setBodyDelay(3, TimeUnit.SECONDS);
            world.start().enqueue(late);
            Call.Factory client = world.client(world.builder().readTimeout(1, TimeUnit.SECONDS));
            world.call(client, world.request("/").build());
        });
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theCallTakesTooLong(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE));
            Call.Factory client = world.client(world.builder().callTimeout(300, TimeUnit.MILLISECONDS));
            world.call(client, world.request("/").build());
        }, Difference.BROKEN_STREAM);
    }

    @Test
    void theServerDoesNotTakeAnUploadInTime() throws Exception {
        Differential.same(World.Wire.H2, FailureTest::uploadToNobody, Difference.BROKEN_STREAM);
    }

    /** Not compared: the JDK's TLS sockets cannot be closed while they write, so that plain OkHttp hangs. */
    @Test
    void aServerOfHttp1DoesNotTakeAnUploadInTime() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
            uploadToNobody(world);
            org.junit.jupiter.api.Assertions.assertEquals(
                    "-> java.net.SocketTimeoutException", world.transcript.get(0));
        }
    }

    private static void uploadToNobody(World world) throws Exception {
        // The server reads a byte in 3 s.
        world.start().enqueue(Mock.ok("never").throttleBody(1, 3, TimeUnit.SECONDS));
        Call.Factory client = world.client(world.builder().writeTimeout(500, TimeUnit.MILLISECONDS));
        world.call(client, world.request("/").post(UploadTest.body(50_000_000, 50_000_000, false)).build());
    }

    /** A queue of connections that is full: the kernel answers no more. */
    @Test
    void aConnectionIsNotThereInTime() throws Exception {
        Differential.same(World.Wire.H2, world -> {
            InetAddress loopback = InetAddress.getByName("localhost");
            List<Socket> waiting = new ArrayList<>();
            try (ServerSocket full = new ServerSocket(0, 1, loopback)) {
                InetSocketAddress address = new InetSocketAddress(loopback, full.getLocalPort());
                try {
                    while (true) {
                        Socket socket = new Socket();
                        waiting.add(socket);
                        socket.connect(address, 300);
                    }
                } catch (IOException isFull) {
                    Call.Factory client = world.client(world.builder().connectTimeout(500, TimeUnit.MILLISECONDS));
                    world.call(client, new Request.Builder()
                            .url("https://localhost:" + full.getLocalPort() + "/")
                            .build());
                }
            } finally {
                for (Socket socket : waiting) {
                    socket.close();
                }
            }
        }, Difference.LATE_CONNECT);
    }

    /** Clients that check certificates alike share their sockets. */
    @Test
    void aCallHasItsOwnLimitOnTheSocketOfAnotherClient() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H2)) {
            world.start().enqueue(Mock.ok("first"));
            int port = world.server.getPort();
            OkHttpClient patient = world.builder().connectTimeout(0, TimeUnit.SECONDS).build();
            OkHttpClient hasty = patient.newBuilder().connectTimeout(500, TimeUnit.MILLISECONDS).build();
            Request request = world.request("/").build();
            try (Response response = world.client(patient.newBuilder()).newCall(request).execute()) {
                response.body().bytes();
            }
            world.recorder.take();
            world.server.shutdown();
            // The kernel takes connections, and nobody answers on them.
            try (ServerSocket silent = new ServerSocket(port, 50, InetAddress.getByName("localhost"))) {
                Call call = world.client(hasty.newBuilder()).newCall(request);
                IOException late = assertThrows(SocketTimeoutException.class, call::execute);
                assertEquals("Connect timed out", late.getMessage());
                List<String> events = world.recorder.take();
                assertFalse(events.toString().contains("connectStart"), events.toString());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = World.Wire.class, mode = Mode.INCLUDE, names = {"H1", "H2"})
    void aCallIsMadeOnceOnly(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.start().enqueue(Mock.ok("once"), Mock.ok("again"));
            Call call = world.client().newCall(world.request("/").build());
            world.call(call);
            try {
                call.execute();
            } catch (IllegalStateException twice) {
                world.say("-> refused");
            }
            world.call(call.clone());
            world.say("-> " + call.isExecuted() + " " + call.isCanceled() + " " + call.request().url().encodedPath());
        });
    }

    /** Does one thing to each connection. */
    private static final class RawServer implements AutoCloseable {
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("localhost"));

        RawServer(Deed deed) throws IOException {
            Thread accepting = new Thread(() -> {
                List<Socket> kept = new ArrayList<>();
                try {
                    while (true) {
                        Socket socket = server.accept();
                        kept.add(socket);
                        try {
                            deed.to(socket);
                        } catch (IOException gone) {
                            // The client was faster.
                        }
                    }
                } catch (IOException closed) {
                    for (Socket socket : kept) {
                        try {
                            socket.close();
                        } catch (IOException ignored) {
                            // It is gone anyway.
                        }
                    }
                }
            });
            accepting.setDaemon(true);
            accepting.start();
        }

        interface Deed {
            void to(Socket socket) throws IOException;
        }

        Request request() {
            return new Request.Builder().url("https://localhost:" + server.getLocalPort() + "/").build();
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }
}
