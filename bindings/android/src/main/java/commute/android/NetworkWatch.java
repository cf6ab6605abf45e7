// Never compiled or run: it needs the Android SDK. See README.md.
package commute.android;

import android.content.Context;
import android.net.ConnectivityManager;
import android.net.Network;
import commute.client.Commute;
import okhttp3.ConnectionPool;

/** Tells commute, and OkHttp's own pools, that the default network is another one. */
public final class NetworkWatch extends ConnectivityManager.NetworkCallback {
    private final ConnectionPool plain;
    private Network current;

    private NetworkWatch(ConnectionPool plain) {
        this.plain = plain;
    }

    /**
     * Begins to watch, for as long as the process lives.
     *
     * @param plain the pool of the client that commute was installed into
     */
    public static void begin(Context context, ConnectionPool plain) {
        ConnectivityManager manager = context.getSystemService(ConnectivityManager.class);
        manager.registerDefaultNetworkCallback(new NetworkWatch(plain));
    }

    @Override
    public void onAvailable(Network network) {
        boolean changed = current != null && !current.equals(network);
        current = network;
        if (changed) {
            Commute.disconnect();
            // OkHttp does not notice either: its connections of the old network would time out.
            plain.evictAll();
        }
    }
}
