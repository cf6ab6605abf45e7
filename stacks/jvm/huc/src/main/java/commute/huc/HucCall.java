package commute.huc;

import commute.driver.Message;
import commute.driver.ReceivedBody;
import commute.driver.Seeded;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import commute.driver.UnsupportedRequestException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import javax.net.ssl.HttpsURLConnection;

/** One blocking call on its own thread, by which its sockets find it. */
final class HucCall implements Stack.Call, Runnable {
    private static final ThreadLocal<HucCall> CURRENT = new ThreadLocal<>();

    private final String id;
    private final URL url;
    private final String method;
    /** Null if the request names none. */
    private final String type;
    /** Of a fetch. */
    private Map<String, String> headers = Collections.emptyMap();
    /** Null if the request has none, or until the message is encoded. */
    private byte[] body;
    private int bodyBytes;
    /** The message to exchange; else null. */
    private final Message message;
    private final Executor threads;
    private final Supplier<UrlOpener> currentOpener;
    private Trace trace;
    private UrlOpener opener;
    private TappedSocket socket;
    private Socket tcpSocket;
    private boolean aborted;

    HucCall(String origin, Step step, Executor threads, Supplier<UrlOpener> currentOpener) throws IOException, UnsupportedRequestException {
        this.threads = threads;
        this.currentOpener = currentOpener;
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
                body = Seeded.atLeast(step.bytes);
                bodyBytes = step.bytes;
                break;
            case FETCH:
                if (step.fetch.method.equals("PATCH")) {
                    throw new UnsupportedRequestException("method PATCH", "HttpURLConnection does not know it");
                }
                url = new URL(origin + step.fetch.path);
                method = step.fetch.method;
                type = step.fetch.headers.get("content-type");
                headers = step.fetch.headers;
                body = step.fetch.bodyOfMethod();
                bodyBytes = body == null ? 0 : body.length;
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

    /** Returns the call that runs on this thread. */
    static HucCall current() {
        return CURRENT.get();
    }

    Trace trace() {
        return trace;
    }

    @Override
    public void start(Trace trace) {
        this.trace = trace;
        opener = currentOpener.get();
        threads.execute(this);
    }

    @Override
    public void run() {
        CURRENT.set(this);
        ReceivedBody received = new ReceivedBody();
        try {
            if (message != null) {
                body = message.encode(trace);
                bodyBytes = body.length;
            }
            transfer(opener.open(url), received);
            trace.complete(received);
        } catch (Exception failure) {
            trace.fail(failure);
        } finally {
            CURRENT.remove();
            if (socket != null) {
                socket.release();
            }
        }
    }

    private void transfer(HttpsURLConnection connection, ReceivedBody received) throws IOException {
        connection.setRequestMethod(method);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        connection.setRequestProperty("x-commute-id", id);
        headers.forEach(connection::setRequestProperty);
        if (body != null) {
            if (type != null) {
                connection.setRequestProperty("content-type", type);
            }
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
        received.requireLength(connection.getContentLengthLong());
    }

    /** Records that the call opens a TLS connection over this TCP socket. */
    synchronized void opens(Socket tcpSocket) throws IOException {
        this.tcpSocket = tcpSocket;
        if (aborted) {
            throw new IOException("cancelled");
        }
    }

    /** Records that the call starts writing to this socket. */
    synchronized void uses(TappedSocket socket) {
        this.socket = socket;
        tcpSocket = socket.tcpSocket();
    }

    /** Returns the socket that the call writes to; null before. */
    TappedSocket socket() {
        return socket;
    }

    /** Makes the thread that blocks on the connection throw. */
    @Override
    public synchronized void abort() {
        aborted = true;
        if (tcpSocket != null) {
            try {
                tcpSocket.close();
            } catch (IOException ignored) {
                // The connection is discarded either way.
            }
        }
    }
}
