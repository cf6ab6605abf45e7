package commute.client;

import java.io.File;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import okhttp3.Call;
import okhttp3.HttpUrl;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Lets OkHttp take the fastest route: HTTP/3, HTTP/2 or HTTP/1.1, by measurement.
 *
 * <pre>{@code
 * OkHttpClient client = Commute.install(new OkHttpClient.Builder()).build();   // OkHttp 5.4 and later
 * Call.Factory calls = Commute.callFactory(new OkHttpClient());                // OkHttp 4.12 and later
 * }</pre>
 *
 * <p>Whatever stands in the way (a missing library, a proxy, an engine that fails before it sent
 * anything), the request goes as it would without commute, and {@link #report(Response)} says so.
 */
public final class Commute {
    /** The version of this code, which the native library must have, too. */
    public static final String VERSION = "0.1.0";

    private Commute() {}

    /**
     * Adds commute to a client of OkHttp 5.4 or later. Call it last: network interceptors that are
     * added afterwards see responses as the engine hands them over, as HTTP/1.1.
     */
    public static OkHttpClient.Builder install(OkHttpClient.Builder builder) {
        for (Interceptor present : builder.interceptors()) {
            if (present instanceof CommuteInterceptor) {
                return builder;
            }
        }
        return builder.addInterceptor(new CommuteInterceptor()).addNetworkInterceptor(new ResponseInterceptor());
    }

    /** Returns calls of this client that use commute, for OkHttp 4.12 and later. */
    public static Call.Factory callFactory(OkHttpClient client) {
        return new CommuteCallFactory(client);
    }

    /** Returns how a response came; null if it came from the cache, or from a client without commute. */
    public static RouteReport report(Response response) {
        Response network = response.networkResponse();
        Request sent = network == null ? response.request() : network.request();
        RouteReport report = sent.tag(RouteReport.class);
        if (report != null || network == null) {
            return report;
        }
        // Network interceptors do not see WebSockets.
        Attempt attempt = sent.tag(Attempt.class);
        return attempt == null ? null : attempt.plain();
    }

    /**
     * Returns how far a call got that failed before it had a response: by which connection its request was sent. Null
     * if none was, if the call fell back to OkHttp's own sockets, or if there is a response.
     */
    public static RouteReport report(Call call) {
        return FailedCalls.get(CommuteCallFactory.real(call));
    }

    /**
     * Sets what engines are made of. It has no effect on engines that have been started, so call it
     * before the first request.
     */
    public static void configure(Settings settings) {
        Engines.configure(settings);
    }

    /** Switches commute on or off, for requests that have not begun. */
    public static void setEnabled(boolean enabled) {
        Switches.enabled = enabled;
    }

    /** Switches commute on or off for the origin of a URL. */
    public static void setEnabled(HttpUrl origin, boolean enabled) {
        Switches.setEnabled(origin, enabled);
    }

    /**
     * Allows HTTP/3 for a percentage of installations, 0 to 100. An installation that keeps a
     * {@linkplain Settings.Builder#memory memory} stays in or out as the percentage grows.
     */
    public static void setHttp3Percent(int percent) {
        if (percent < 0 || percent > 100) {
            throw new IllegalArgumentException("expected 0 to 100 percent, not " + percent);
        }
        Engines.setHttp3Percent(percent);
    }

    /**
     * Reports that this is the default network now. Connections over HTTP/3 move to it with the requests on them, and
     * those over TCP take no more requests. What was learnt on this network before counts again. Nothing happens if
     * the network is the one reported last.
     *
     * @param name any name by which the network is known again, e.g. its operator's or its gateway's
     *     address; what is kept of it is a digest
     * @param metered whether data costs money there: no connection is opened just to learn
     */
    public static void networkChanged(byte[] name, boolean metered) {
        networkChanged(name, metered, NetworkKind.OTHER);
    }

    /**
     * Reports that this is the default network now.
     *
     * @param kind what it is, for {@link #metricsCsv}
     * @see #networkChanged(byte[], boolean)
     */
    public static void networkChanged(byte[] name, boolean metered, NetworkKind kind) {
        Engines.setNetwork(digest(name), metered, kind);
    }

    /**
     * Reports that there is no network, until {@link #networkChanged}. Meanwhile requests go by OkHttp's own sockets.
     */
    public static void networkLost() {
        Engines.setNetwork(null, false, NetworkKind.OTHER);
    }

    /**
     * Returns what the last requests of each engine took, at most 1,024, as CSV that {@code commute import} reads;
     * empty if there was none. Requests by OkHttp's own sockets are not in it. It names neither servers nor networks.
     */
    public static String metricsCsv(MetricsArms arms) {
        return Engines.metricsCsv(arms);
    }

    /**
     * Writes what was learnt to its {@linkplain Settings.Builder#memory folder} and returns when that is done, e.g.
     * when the app goes to the background, where the system may end it. Without this it is written after an engine's
     * first request, at most every 30 s after that, and when the engine ends.
     */
    public static void save() {
        Engines.saveAll();
    }

    /**
     * Closes all connections and forgets all TLS sessions, but nothing that was learnt and kept. Calls
     * under way go on.
     */
    public static void disconnect() {
        Engines.endAll();
        LenientOrigins.clear();
    }

    /**
     * Loads a native library that the app did not bring when it was installed. Requests that begin
     * afterwards use it. Nothing happens if a library is loaded already.
     *
     * @param sha256 the file's SHA-256 in hexadecimal, from a source that is trusted
     * @throws IOException if the file is not the one expected, or not a library of this version
     */
    public static void load(File file, String sha256) throws IOException {
        NativeLibrary.load(file, sha256);
    }

    /** Returns why there is no native library, or null if there is one. */
    public static String missingLibrary() {
        return NativeLibrary.missing();
    }

    private static byte[] digest(byte[] name) {
        try {
            return Arrays.copyOf(MessageDigest.getInstance("SHA-256").digest(name), 16);
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
