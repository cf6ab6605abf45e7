// Never run: see bindings/android/README.md.
package commute.android;

import android.content.Context;
import android.net.ConnectivityManager;
import android.net.LinkProperties;
import android.net.Network;
import android.net.NetworkCapabilities;
import android.net.RouteInfo;
import android.telephony.TelephonyManager;
import commute.client.Commute;
import java.nio.charset.StandardCharsets;
import okhttp3.ConnectionPool;

/** Tells commute, and OkHttp's own pool, which network is the default one. */
public final class NetworkWatch extends ConnectivityManager.NetworkCallback {
    private final Context context;
    private final ConnectionPool plain;
    private Network current;
    private NetworkCapabilities capabilities;

    private NetworkWatch(Context context, ConnectionPool plain) {
        this.context = context;
        this.plain = plain;
    }

    /**
     * Begins to watch, for as long as the process lives.
     *
     * @param plain the pool of the client that commute was installed into
     */
    public static void begin(Context context, ConnectionPool plain) {
        Context app = context.getApplicationContext();
        ConnectivityManager manager = app.getSystemService(ConnectivityManager.class);
        manager.registerDefaultNetworkCallback(new NetworkWatch(app, plain));
    }

    @Override
    public void onAvailable(Network network) {
        if (current != null && !current.equals(network)) {
            // OkHttp does not notice: its connections of the old network would time out.
            plain.evictAll();
        }
        current = network;
    }

    // Since Android 8 these two follow onAvailable at once, in this order.

    @Override
    public void onCapabilitiesChanged(Network network, NetworkCapabilities changed) {
        capabilities = changed;
    }

    @Override
    public void onLinkPropertiesChanged(Network network, LinkProperties properties) {
        boolean metered = capabilities == null
                || !capabilities.hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        Commute.networkChanged(name(properties).getBytes(StandardCharsets.UTF_8), metered);
    }

    @Override
    public void onLost(Network network) {
        current = null;
        Commute.networkLost();
    }

    /**
     * A name by which the network is known again: the operator's, or those of the gateways and name
     * servers. None of it needs a permission that a user is asked for, as the name of a Wi-Fi would.
     * The engine keeps a salted digest of it.
     */
    private String name(LinkProperties properties) {
        if (capabilities != null && capabilities.hasTransport(NetworkCapabilities.TRANSPORT_CELLULAR)) {
            return "cellular " + context.getSystemService(TelephonyManager.class).getNetworkOperator();
        }
        StringBuilder name = new StringBuilder("other");
        for (RouteInfo route : properties.getRoutes()) {
            if (route.isDefaultRoute() && route.getGateway() != null) {
                name.append(' ').append(route.getGateway().getHostAddress());
            }
        }
        return name.append(' ').append(properties.getDnsServers()).toString();
    }
}
