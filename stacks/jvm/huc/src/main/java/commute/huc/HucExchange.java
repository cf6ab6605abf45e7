package commute.huc;

import commute.driver.Message;
import commute.driver.Received;
import commute.driver.Seeded;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import javax.net.ssl.HttpsURLConnection;

/** One blocking call on a thread of its own. Its sockets find it by that thread. */
final class HucExchange implements Stack.Exchange, Runnable {
    private static final ThreadLocal<HucExchange> OF_THREAD = new ThreadLocal<>();

    private final String id;
    private final URL url;
    private final String method;
    private final String type;
    /** Null when the request has none, or until a message is encoded. */
    private byte[] body;
    private int bodyBytes;
    /** Null but for an exchange. */
    private final Message message;
    private final Executor threads;
    private final Supplier<Urls> current;
    private Trace trace;
    private Urls urls;
    private TappedSocket socket;
    private Socket wire;
    private boolean aborted;

    HucExchange(String origin, Step step, Executor threads, Supplier<Urls> current) throws IOException {
        this.threads = threads;
        this.current = current;
        id = Long.toString(step.id);
        message = step.message;
        switch (step.kind) {
            case CALL:
                url = new URL(origin + "/echo");
                method = "POST";
                type = "application/json";
                body = step.body.getBytes(StandardCharsets.UTF_8);
                bodyBytes = body.length;
                break;
            case PUT:
                url = new URL(origin + "/upload");
                method = "PUT";
                type = "application/octet-stream";
                body = Seeded.file(step.bytes);
                bodyBytes = step.bytes;
                break;
            case EXCHANGE:
                url = new URL(origin + "/exchange/" + message.kind);
                method = "POST";
                type = message.contentType;
                break;
            default:
                url = new URL(origin + "/bytes/" + step.bytes);
                method = "GET";
                type = null;
        }
    }

    /** The call that runs on this thread. */
    static HucExchange ofThread() {
        return OF_THREAD.get();
    }

    Trace trace() {
        return trace;
    }

    @Override
    public void start(Trace trace) {
        this.trace = trace;
        urls = current.get();
        threads.execute(this);
    }

    @Override
    public void run() {
        OF_THREAD.set(this);
        Received received = new Received();
        try {
            if (message != null) {
                body = message.encode(trace);
                bodyBytes = body.length;
            }
            exchange(urls.open(url), received);
            trace.ended(received);
        } catch (Exception failure) {
            trace.failed(failure);
        } finally {
            OF_THREAD.remove();
            if (socket != null) {
                socket.release();
            }
        }
    }

    private void exchange(HttpsURLConnection connection, Received received) throws IOException {
        connection.setRequestMethod(method);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setRequestProperty("x-commute-id", id);
        if (body != null) {
            connection.setRequestProperty("content-type", type);
            if (message != null) {
                connection.setRequestProperty("accept-encoding", message.contentEncoding);
                if (message.isCompressed()) {
                    connection.setRequestProperty("content-encoding", message.contentEncoding);
                }
            }
            connection.setDoOutput(true);
            connection.setFixedLengthStreamingMode(bodyBytes);
            try (OutputStream out = connection.getOutputStream()) {
                out.write(body, 0, bodyBytes);
            }
            trace.requestBytes(bodyBytes);
        }
        int status = connection.getResponseCode();
        trace.status(status);
        try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
            if (in != null) {
                received.readAll(in);
            }
        }
        received.mustHave(connection.getContentLengthLong());
    }

    /** It opens a connection, over this one of TCP. */
    synchronized void opens(Socket wire) throws IOException {
        this.wire = wire;
        if (aborted) {
            throw new IOException("given up");
        }
    }

    /** It begins to write to this connection. */
    synchronized void uses(TappedSocket socket) {
        this.socket = socket;
        wire = socket.wire();
    }

    TappedSocket socket() {
        return socket;
    }

    /** The thread that blocks on the connection gets an exception. */
    @Override
    public synchronized void abort() {
        aborted = true;
        if (wire != null) {
            try {
                wire.close();
            } catch (IOException ignored) {
                // It is thrown away either way.
            }
        }
    }
}
