package commute.driver;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** What {@code hello} says of a stack. */
public final class Identity {
    public final String stack;
    public final String version;
    public final String tls;
    final Map<String, String> phases = new TreeMap<>();
    final Map<String, String> settings = new TreeMap<>();
    List<String> protocols = Arrays.asList();
    List<String> capabilities = Arrays.asList();

    public Identity(String stack, String version, String tls) {
        this.stack = stack;
        this.version = version;
        this.tls = tls;
        settings.put("runtime", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        settings.put("time-out", "the driver ends the call at timeout_ns; the library's own limits are off");
    }

    public Identity protocols(String... protocols) {
        this.protocols = Arrays.asList(protocols);
        return this;
    }

    public Identity capabilities(String... capabilities) {
        this.capabilities = Arrays.asList(capabilities);
        return this;
    }

    /** Where the time of a phase comes from. */
    public Identity phase(String name, String source) {
        phases.put(name, source);
        return this;
    }

    /** What bears on timing and no server can see. */
    public Identity setting(String name, String value) {
        settings.put(name, value);
        return this;
    }

    /** gRPC carries Protobuf, all else JSON. */
    String codec() {
        return protocols.contains("grpc") ? "protobuf" : "json";
    }

    /** Over gRPC there is Protobuf only. */
    Map<String, String> exchangeCodecs(Messages messages) {
        Map<String, String> codecs = new TreeMap<>();
        if (messages != null) {
            codecs.putAll(messages.codecs());
            codecs.keySet().removeIf(codec -> !Message.travels(codec));
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
