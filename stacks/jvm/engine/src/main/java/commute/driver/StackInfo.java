package commute.driver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** Describes a stack, for {@code hello}. */
public final class StackInfo {
    public final String stack;
    public final String version;
    public final String tls;
    final Map<String, String> phases = new TreeMap<>();
    final Map<String, String> settings = new TreeMap<>();
    List<String> protocols = Arrays.asList();
    List<String> capabilities = Arrays.asList();

    public StackInfo(String stack, String version, String tls) {
        this.stack = stack;
        this.version = version;
        this.tls = tls;
        settings.put("runtime", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        settings.put("timeout", "the driver ends the call at timeout_ns; the library's own timeouts are off");
    }

    /** Sets the protocols that the stack can be driven over. */
    public StackInfo protocols(String... protocols) {
        this.protocols = Arrays.asList(protocols);
        return this;
    }

    /** Sets the stack's capabilities, in the protocol's words. The engine adds its own. */
    public StackInfo capabilities(String... capabilities) {
        this.capabilities = new ArrayList<>(Arrays.asList(capabilities));
        this.capabilities.add("until");
        return this;
    }

    /** Adds the source of a phase's time. */
    public StackInfo phase(String name, String source) {
        phases.put(name, source);
        return this;
    }

    /** Adds a setting that affects timing and that no server can see. */
    public StackInfo setting(String name, String value) {
        settings.put(name, value);
        return this;
    }

    /** Returns the codec of plain calls: Protobuf over gRPC, else JSON. */
    String callCodec() {
        return protocols.contains("grpc") ? "protobuf" : "json";
    }

    /** Returns the codecs of exchanges with their libraries: over gRPC only Protobuf. */
    Map<String, String> exchangeCodecs(Messages messages) {
        Map<String, String> codecs = new TreeMap<>();
        if (messages != null) {
            codecs.putAll(messages.codecs());
            codecs.keySet().removeIf(codec -> !Message.hasMediaType(codec));
            if (protocols.contains("grpc")) {
                codecs.keySet().retainAll(Arrays.asList("protobuf"));
            }
        }
        return codecs;
    }

    JSONObject hello(String clock, Messages messages) throws JSONException {
        Map<String, String> codecs = exchangeCodecs(messages);
        if (!codecs.isEmpty()) {
            settings.put("codecs of exchanges", codecs.toString());
        }
        return new JSONObject()
                .put("type", "hello").put("version", 2)
                .put("stack", stack).put("stack_version", version).put("tls", tls)
                .put("protocols", new JSONArray(protocols)).put("capabilities", new JSONArray(capabilities))
                .put("clock", clock).put("resolution_ns", 1)
                .put("codecs", new JSONArray(codecs.keySet()))
                .put("phases", new JSONObject(phases)).put("settings", new JSONObject(settings));
    }
}
