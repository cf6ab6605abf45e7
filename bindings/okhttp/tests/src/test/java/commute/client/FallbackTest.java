package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import okhttp3.Call;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;
import okhttp3.mockwebserver.MockResponse;
import okhttp3.mockwebserver.MockWebServer;
import okhttp3.mockwebserver.SocketPolicy;
import okio.Timeout;
import org.junit.jupiter.api.Test;

/** Calls that fall back after the engine failed. */
final class FallbackTest {
    @Test
    void theLimitsOfACallStillHold() throws Exception {
        Differential.same(World.Wire.H1, world -> {
            try (MockWebServer server = OldSuites.server()) {
                server.enqueue(new MockResponse().setSocketPolicy(SocketPolicy.NO_RESPONSE));
                Call call = world.client().newCall(new Request.Builder().url(server.url("/")).build());
                call.timeout().timeout(500, TimeUnit.MILLISECONDS);
                world.call(call);
            }
            // Another thread reports that it cancelled the call.
        }, Difference.LATE_CONNECT, Difference.BROKEN_STREAM);
    }

    /** Before OkHttp 5.4 it is another call. */
    @Test
    void theTimeOfTheFirstCallCounts() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1);
                MockWebServer server = OldSuites.server()) {
            server.enqueue(Mock.ok("fine"));
            OkHttpClient client = world.builder().build();
            Call call = Commute.callFactory(client).newCall(new Request.Builder().url(server.url("/")).build());
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
            call.timeout().deadlineNanoTime(deadline);
            try (Response response = call.execute()) {
                assertEquals("plain.not_sent", Commute.report(response).code());
            }
            Timeout left = call.timeout();
            assertEquals(deadline, left.deadlineNanoTime());
            long limitNs = TimeUnit.MILLISECONDS.toNanos(client.callTimeoutMillis());
            assertTrue(left.timeoutNanos() > 0 && left.timeoutNanos() < limitNs, left.timeoutNanos() + " ns are left");
        }
    }

    /** Before OkHttp 5.4 it is another call, which must not begin once the first one is cancelled. */
    @Test
    void aCallThatIsCancelledMeanwhileDoesNotGoOn() throws Exception {
        try (World world = new World(World.Carrier.ENGINE, World.Wire.H1)) {
            world.start().enqueue(Mock.ok("plain"));
            OkHttpClient client = world.builder().callTimeout(0, TimeUnit.SECONDS).build();
            Call call = Commute.callFactory(client).newCall(world.request("/").build());
            CountDownLatch cancelling = new CountDownLatch(1);
            CountDownLatch goneOn = new CountDownLatch(1);
            replaceEngineCall(call, engineCall -> proxy((proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "execute":
                        cancelling.await();
                        throw new EngineUnavailableException(PlainReason.NOT_SENT, "on purpose");
                    case "cancel":
                        cancelling.countDown();
                        goneOn.await(500, TimeUnit.MILLISECONDS);
                        return method.invoke(engineCall);
                    default:
                        return method.invoke(engineCall, arguments);
                }
            }));
            Thread canceller = new Thread(call::cancel);
            canceller.start();
            assertThrows(IOException.class, () -> call.execute().close());
            goneOn.countDown();
            canceller.join();
            assertEquals(0, world.server.getRequestCount());
        }
    }

    /** Puts something else in the place of OkHttp's call, whose moments no test can choose. */
    private static void replaceEngineCall(Call call, UnaryOperator<Call> by) throws ReflectiveOperationException {
        InvocationHandler handler = Proxy.getInvocationHandler(call);
        Field current = handler.getClass().getDeclaredField("current");
        current.setAccessible(true);
        current.set(handler, by.apply((Call) current.get(handler)));
    }

    private static Call proxy(InvocationHandler handler) {
        return (Call) Proxy.newProxyInstance(Call.class.getClassLoader(), new Class<?>[] {Call.class}, handler);
    }
}
