package commute.driver;

import java.io.BufferedReader;
import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.json.JSONObject;

/** The connection to the lab: one JSON object per line. */
public final class LabChannel implements Closeable {
    /** The protocol's name for the clock that rows are stamped with. */
    final String clock;
    /** The folder on this host with the credentials that the lab names; null: the lab's own paths. */
    final File credentials;
    private final BufferedReader requests;
    private final OutputStream replies;

    private LabChannel(InputStream requests, OutputStream replies, String clock, File credentials) {
        this.requests = new BufferedReader(new InputStreamReader(requests, StandardCharsets.UTF_8));
        this.replies = replies;
        this.clock = clock;
        this.credentials = credentials;
    }

    /** Opens the channel that the environment names. */
    public static LabChannel fromEnvironment(Map<String, String> environment) throws IOException {
        String address = environment.get("COMMUTE_CONNECT");
        if (address != null) {
            return connect(address, null);
        }
        String in = environment.get("COMMUTE_IN");
        String out = environment.get("COMMUTE_OUT");
        if (in == null || out == null) {
            throw new IOException("neither COMMUTE_IN and COMMUTE_OUT nor COMMUTE_CONNECT is set: commute starts this program");
        }
        // System.nanoTime is CLOCK_MONOTONIC on Linux (HotSpot's os::javaTimeNanos).
        return new LabChannel(new FileInputStream(in), new FileOutputStream(out), "monotonic", null);
    }

    /** Connects over TCP, from a phone. Its clock is not the lab's. */
    public static LabChannel connect(String address, File credentials) throws IOException {
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        return new LabChannel(socket.getInputStream(), socket.getOutputStream(), "own", credentials);
    }

    /** Returns the next line, or null if the lab has disconnected. */
    String receive() throws IOException {
        return requests.readLine();
    }

    void send(JSONObject reply) throws IOException {
        replies.write((reply + "\n").getBytes(StandardCharsets.UTF_8));
        replies.flush();
    }

    @Override
    public void close() throws IOException {
        replies.close();
        requests.close();
    }
}
