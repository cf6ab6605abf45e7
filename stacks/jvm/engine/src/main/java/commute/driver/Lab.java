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

/** The wires to the lab: one JSON object a line. */
public final class Lab implements Closeable {
    /** Whose clock the rows' times are of, as the lab sees it. */
    final String clock;
    /** Where the credentials that the lab names are on this host; null: where it says. */
    final File credentials;
    private final BufferedReader requests;
    private final OutputStream replies;

    private Lab(InputStream requests, OutputStream replies, String clock, File credentials) {
        this.requests = new BufferedReader(new InputStreamReader(requests, StandardCharsets.UTF_8));
        this.replies = replies;
        this.clock = clock;
        this.credentials = credentials;
    }

    public static Lab of(Map<String, String> environment) throws IOException {
        String address = environment.get("COMMUTE_CONNECT");
        if (address != null) {
            return at(address, null);
        }
        String in = environment.get("COMMUTE_IN");
        String out = environment.get("COMMUTE_OUT");
        if (in == null || out == null) {
            throw new IOException("neither COMMUTE_IN and COMMUTE_OUT nor COMMUTE_CONNECT is set: commute starts this program");
        }
        // System.nanoTime is CLOCK_MONOTONIC on Linux (HotSpot's os::javaTimeNanos).
        return new Lab(new FileInputStream(in), new FileOutputStream(out), "monotonic", null);
    }

    /** Over TCP, for a phone: its clock is not the lab's. */
    public static Lab at(String address, File credentials) throws IOException {
        int colon = address.lastIndexOf(':');
        Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        socket.setTcpNoDelay(true);
        return new Lab(socket.getInputStream(), socket.getOutputStream(), "own", credentials);
    }

    /** The next line, or null when the lab has gone. */
    String hear() throws IOException {
        return requests.readLine();
    }

    void say(JSONObject reply) throws IOException {
        replies.write((reply + "\n").getBytes(StandardCharsets.UTF_8));
        replies.flush();
    }

    @Override
    public void close() throws IOException {
        replies.close();
        requests.close();
    }
}
