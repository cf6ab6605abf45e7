package commute.driver;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import org.json.JSONException;
import org.json.JSONObject;

/** What a session is to be. */
public final class Setup {
    public final String url;
    public final String host;
    public final int port;
    public final String protocol;
    public final File caFile;
    /** Null when there is none. */
    public final File clientCertFile;
    public final File clientKeyFile;
    public final long timeoutNs;
    final String codec;
    /** Null when exchanges are not done. */
    final Messages messages;
    /** Value files by the message's name. */
    private final JSONObject values;
    private final Map<String, Object> read = new HashMap<>();
    final String warmupUrl;
    final int warmupCalls;

    /** Refuses what the stack cannot do. */
    Setup(JSONObject request, Identity identity, Messages messages, File credentials) throws JSONException, IOException, Unsupported {
        this.messages = messages;
        protocol = request.getString("protocol");
        if (!identity.protocols.contains(protocol)) {
            throw new Unsupported("protocol " + protocol, identity.stack + " is not driven over it here");
        }
        codec = request.getString("codec");
        if (!codec.equals(identity.codec()) && !identity.exchangeCodecs(messages).containsKey(codec)) {
            throw new Unsupported("codec " + codec, identity.stack + " is not given it here");
        }
        for (String wish : new String[] {"congestion", "observe", "discovery"}) {
            if (!request.optString(wish, "").isEmpty()) {
                throw new Unsupported(wish + " " + request.getString(wish), identity.stack + " is not driven so here");
            }
        }
        url = request.getString("url");
        host = URI.create(url).getHost();
        port = URI.create(url).getPort();
        if (host == null || port < 0) {
            throw new IOException("url " + url + " names no host and port");
        }
        timeoutNs = request.getLong("timeout_ns");
        values = request.isNull("values") ? new JSONObject() : request.getJSONObject("values");
        warmupUrl = request.isNull("warmup_url") ? null : request.getString("warmup_url");
        warmupCalls = request.optInt("warmup_calls", 1);
        caFile = readable(request, "ca_file", credentials);
        clientCertFile = readable(request, "client_cert_file", credentials);
        clientKeyFile = readable(request, "client_key_file", credentials);
        if (caFile == null) {
            throw new IOException("setup names no ca_file");
        }
        if (clientCertFile != null && !identity.capabilities.contains("mtls")) {
            throw new Unsupported("client_cert_file", identity.stack + " shows no client certificate here");
        }
    }

    private Setup(Setup other, String url) {
        this.url = url;
        host = URI.create(url).getHost();
        port = URI.create(url).getPort();
        protocol = other.protocol;
        codec = other.codec;
        messages = other.messages;
        values = other.values;
        caFile = other.caFile;
        clientCertFile = other.clientCertFile;
        clientKeyFile = other.clientKeyFile;
        timeoutNs = other.timeoutNs;
        warmupUrl = null;
        warmupCalls = 0;
    }

    /** The same at another origin. */
    Setup at(String otherUrl) {
        return new Setup(this, otherUrl);
    }

    /** The message of that name, which the lab has made. */
    Object value(String name, String kind) throws Exception {
        Object known = read.get(name);
        if (known == null) {
            known = messages.read(kind, new File(values.getString(name)));
            read.put(name, known);
        }
        return known;
    }

    private static File readable(JSONObject request, String key, File credentials) throws JSONException, IOException {
        if (request.isNull(key)) {
            return null;
        }
        File named = new File(request.getString(key));
        File file = credentials == null ? named : new File(credentials, named.getName());
        if (!file.canRead()) {
            throw new IOException("cannot read " + key + " " + file);
        }
        return file;
    }
}
