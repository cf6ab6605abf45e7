package commute.driver;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONException;
import org.json.JSONObject;

/** A {@code setup} request: the origin, how to connect to it, and the messages. */
public final class Setup {
    public final String url;
    /** The URLs of further origins, by the name in steps. */
    public final Map<String, String> origins;
    public final String host;
    public final int port;
    public final String protocol;
    public final File caFile;
    /** Null without a client certificate. */
    public final File clientCertFile;
    public final File clientKeyFile;
    public final long timeoutNs;
    /** Null if requests need not prove who sends them. */
    public final Auth auth;
    final String codec;
    /** Null if exchanges are not supported. */
    final Messages messages;
    /** Value files by message name. */
    private final JSONObject values;
    private final Map<String, Object> read = new HashMap<>();
    /** The payloads of fetch steps, by name. */
    private final Map<String, byte[]> payloads = new HashMap<>();
    final String warmupUrl;
    final int warmupCalls;

    /** Parses a request and rejects what the stack cannot do. */
    Setup(JSONObject request, StackInfo info, Messages messages, File credentials) throws JSONException, IOException, UnsupportedRequestException {
        this.messages = messages;
        protocol = request.getString("protocol");
        if (!info.protocols.contains(protocol)) {
            throw new UnsupportedRequestException("protocol " + protocol, "this driver does not drive " + info.stack + " over it");
        }
        codec = request.getString("codec");
        if (!codec.equals(info.callCodec()) && !info.exchangeCodecs(messages).containsKey(codec)) {
            throw new UnsupportedRequestException("codec " + codec, "this driver has no such codec for " + info.stack);
        }
        for (String option : new String[] {"congestion", "observe", "discovery"}) {
            if (!request.optString(option, "").isEmpty()) {
                throw new UnsupportedRequestException(option + " " + request.getString(option), "this driver does not support it");
            }
        }
        url = request.getString("url");
        origins = origins(request.optJSONObject("origins"), info);
        host = URI.create(url).getHost();
        port = URI.create(url).getPort();
        if (host == null || port < 0) {
            throw new IOException("url " + url + " has no host and port");
        }
        if (isPlaintext() && (!info.capabilities.contains("plaintext") || protocol.equals("h2"))) {
            throw new UnsupportedRequestException("plaintext", info.stack + " needs TLS for " + protocol);
        }
        auth = request.isNull("auth") ? null : auth(request.getJSONObject("auth"), info, credentials);
        timeoutNs = request.getLong("timeout_ns");
        values = request.isNull("values") ? new JSONObject() : request.getJSONObject("values");
        JSONObject files = request.optJSONObject("payloads");
        if (files != null) {
            for (Iterator<String> names = files.keys(); names.hasNext();) {
                String name = names.next();
                payloads.put(name, Files.readAllBytes(readable(files, name, credentials).toPath()));
            }
        }
        warmupUrl = request.isNull("warmup_url") ? null : request.getString("warmup_url");
        warmupCalls = request.optInt("warmup_calls", 1);
        caFile = readable(request, "ca_file", credentials);
        clientCertFile = readable(request, "client_cert_file", credentials);
        clientKeyFile = readable(request, "client_key_file", credentials);
        if (caFile == null) {
            throw new IOException("setup has no ca_file");
        }
        if (clientCertFile != null && !info.capabilities.contains("mtls")) {
            throw new UnsupportedRequestException("client_cert_file", "this driver sends no client certificate over " + info.stack);
        }
    }

    private Setup(Setup other, String url) {
        this.url = url;
        origins = Collections.emptyMap();
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
        auth = null;
        warmupUrl = null;
        warmupCalls = 0;
    }

    /** Returns whether the origin is used without TLS. */
    public boolean isPlaintext() {
        return url.startsWith("http:");
    }

    /** Returns the same setup for another origin, where requests need no proof. */
    public Setup withUrl(String otherUrl) {
        return new Setup(this, otherUrl);
    }

    /** Returns the payload of that name. */
    byte[] payload(String name) throws IOException {
        byte[] payload = payloads.get(name);
        if (payload == null) {
            throw new IOException("setup has no payload \"" + name + "\"");
        }
        return payload;
    }

    /** Returns the message of that name, read from its value file. */
    Object value(String name, String kind) throws Exception {
        Object known = read.get(name);
        if (known == null) {
            known = messages.read(kind, new File(values.getString(name)));
            read.put(name, known);
        }
        return known;
    }

    private static Map<String, String> origins(JSONObject urls, StackInfo info) throws JSONException, UnsupportedRequestException {
        Map<String, String> origins = new TreeMap<>();
        if (urls == null) {
            return origins;
        }
        if (!info.capabilities.contains("origins")) {
            throw new UnsupportedRequestException("origins", "this driver does not support them for " + info.stack);
        }
        for (Iterator<String> names = urls.keys(); names.hasNext();) {
            String name = names.next();
            origins.put(name, urls.getString(name));
        }
        return origins;
    }

    private static Auth auth(JSONObject auth, StackInfo info, File credentials) throws JSONException, IOException, UnsupportedRequestException {
        String scheme = auth.getString("scheme");
        if (info.capabilities.contains(scheme)) {
            switch (scheme) {
                case "jwt":
                    return Auth.jwt(readable(auth, "token_file", credentials));
                case "hmac":
                    return Auth.hmac(auth.getString("key_id"), readable(auth, "key_file", credentials));
                default:
            }
        }
        throw new UnsupportedRequestException("auth " + scheme, "this driver does not have it for " + info.stack);
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
