package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import okhttp3.OkHttpClient;
import okhttp3.Response;
import okhttp3.WebSocket;
import okhttp3.WebSocketListener;
import okhttp3.mockwebserver.MockResponse;
import org.junit.jupiter.api.Test;

/** WebSockets fall back. They are the client's, not a call's, so that a factory has none. */
final class WebSocketTest {
    @Test
    void messagesGoBothWays() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            world.start().enqueue(new MockResponse().withWebSocketUpgrade(new Echo()));
            OkHttpClient.Builder builder = world.builder();
            boolean installed = world.carrier == World.Carrier.ENGINE && TestClients.BY_INTERCEPTOR;
            OkHttpClient client = (installed ? Commute.install(builder) : builder).build();
            CountDownLatch closed = new CountDownLatch(1);
            WebSocket socket = client.newWebSocket(world.request("/").build(), new WebSocketListener() {
                @Override
                public void onOpen(WebSocket socket, Response response) {
                    world.say("open " + response.code());
                    if (installed) {
                        assertEquals("plain.upgrade", Commute.report(response).code());
                    }
                    socket.send("hello");
                }

                @Override
                public void onMessage(WebSocket socket, String text) {
                    world.say("message " + text);
                    socket.close(1_000, "done");
                }

                @Override
                public void onClosed(WebSocket socket, int code, String reason) {
                    world.say("closed " + code + " " + reason);
                    closed.countDown();
                }

                @Override
                public void onFailure(WebSocket socket, Throwable failure, Response response) {
                    world.say("failed: " + failure);
                    closed.countDown();
                }
            });
            assertTrue(closed.await(20, TimeUnit.SECONDS));
            socket.cancel();
            client.dispatcher().executorService().shutdown();
            client.connectionPool().evictAll();
        });
    }

    private static final class Echo extends WebSocketListener {
        @Override
        public void onMessage(WebSocket socket, String text) {
            socket.send(text + " you");
        }

        @Override
        public void onClosing(WebSocket socket, int code, String reason) {
            socket.close(code, reason);
        }
    }
}
