package commute.okhttp;

import commute.driver.Setup;
import java.io.IOException;
import okhttp3.OkHttpClient;

/** Carries calls otherwise than by OkHttp's own sockets, and describes their connections in their rows. */
public interface Carrier {
    /** Makes a carrier for one setup. */
    interface Factory {
        Carrier open(Setup setup) throws IOException;
    }

    OkHttpClient.Builder install(OkHttpClient.Builder client);

    /** Closes all connections and forgets all TLS sessions. */
    void disconnect();
}
