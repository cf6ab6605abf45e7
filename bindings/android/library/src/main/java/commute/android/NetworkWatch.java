// Never run on a device: see bindings/android/README.md.
package commute.android;

import android.content.Context;
import android.net.ConnectivityManager;
import android.net.LinkProperties;
import android.net.Network;
import android.net.NetworkCapabilities;
import android.net.RouteInfo;
import android.telephony.TelephonyManager;
import commute.client.Commute;
import commute.client.NetworkKind;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import okhttp3.ConnectionPool;

/** Reports changes of the default network to commute, and to OkHttp's own pool. */
public final class NetworkWatch extends ConnectivityManager.NetworkCallback {
    private final Listener listener;
    private final Supplier<String> operator;
    private Network current;
    // Of the current network, as far as Android has told.
    private NetworkCapabilities capabilities;
    private LinkProperties links;
    // As reported first, and as reported last.
    private String name;
    private boolean toldMetered;
    private NetworkKind toldKind;

    /** Receives the changes of the default network. */
    interface Listener {
        void left();

        void changed(String name, boolean metered, NetworkKind kind);

        void lost();
    }

    NetworkWatch(Listener listener, Supplier<String> operator) {
        this.listener = listener;
        this.operator = operator;
    }

    /**
     * Starts to watch, for as long as the process lives.
     *
     * @param plain the pool of the client that commute was installed into
     */
    public static void begin(Context context, ConnectionPool plain) {
        Context app = context.getApplicationContext();
        NetworkWatch watch = new NetworkWatch(
                new Teller(plain), () -> app.getSystemService(TelephonyManager.class).getNetworkOperator());
        app.getSystemService(ConnectivityManager.class).registerDefaultNetworkCallback(watch);
    }

    @Override
    public void onAvailable(Network network) {
        if (current != null && !current.equals(network)) {
            listener.left();
        }
        enter(network);
    }

    // Since Android 8 these two follow onAvailable at once, and come again with every change.

    @Override
    public void onCapabilitiesChanged(Network network, NetworkCapabilities changed) {
        capabilities = changed;
        tell();
    }

    @Override
    public void onLinkPropertiesChanged(Network network, LinkProperties changed) {
        links = changed;
        tell();
    }

    @Override
    public void onLost(Network network) {
        enter(null);
        listener.lost();
    }

    private void enter(Network network) {
        current = network;
        capabilities = null;
        links = null;
        name = null;
    }

    private void tell() {
        if (capabilities == null || links == null) {
            return;
        }
        boolean metered = !capabilities.hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        NetworkKind kind = kind();
        if (name == null) {
            name = name();
        } else if (metered == toldMetered && kind == toldKind) {
            return;
        }
        if (name != null) {
            toldMetered = metered;
            toldKind = kind;
            listener.changed(name, metered, kind);
        }
    }

    /** Returns the kind of the network, or for a VPN the kind of the network below it now. */
    private NetworkKind kind() {
        if (capabilities.hasTransport(NetworkCapabilities.TRANSPORT_CELLULAR)) {
            return NetworkKind.CELLULAR;
        }
        if (capabilities.hasTransport(NetworkCapabilities.TRANSPORT_WIFI)) {
            return NetworkKind.WIFI;
        }
        boolean isCable = capabilities.hasTransport(NetworkCapabilities.TRANSPORT_ETHERNET);
        return isCable ? NetworkKind.ETHERNET : NetworkKind.OTHER;
    }

    /**
     * Returns a name by which the network is known again: the operator's, or those of the gateways and name servers.
     * None of it needs a permission that a user is asked for, as the name of a Wi-Fi would. Null as long as too
     * little is known. Facts that a router announces later, e.g. a name server over IPv6, do not make it another
     * network. So the name is not asked for again.
     */
    private String name() {
        boolean isVpn = capabilities.hasTransport(NetworkCapabilities.TRANSPORT_VPN);
        String kind = isVpn ? "vpn " : "";
        if (capabilities.hasTransport(NetworkCapabilities.TRANSPORT_CELLULAR)) {
            return kind + "cellular " + operator.get();
        }
        List<InetAddress> addresses = gateways();
        if (addresses.isEmpty() && !isVpn) {
            return null;
        }
        // IPv4's come together, by DHCP; IPv6's before or after them.
        boolean hasIpv4 = addresses.stream().anyMatch(Inet4Address.class::isInstance);
        addresses.addAll(links.getDnsServers());
        StringBuilder name = new StringBuilder(kind).append("other");
        for (InetAddress address : addresses) {
            if (address instanceof Inet4Address == hasIpv4) {
                name.append(' ').append(address.getHostAddress());
            }
        }
        return name.toString();
    }

    private List<InetAddress> gateways() {
        List<InetAddress> gateways = new ArrayList<>();
        for (RouteInfo route : links.getRoutes()) {
            if (route.isDefaultRoute() && route.getGateway() != null) {
                gateways.add(route.getGateway());
            }
        }
        return gateways;
    }

    private static final class Teller implements Listener {
        private final ConnectionPool plain;

        Teller(ConnectionPool plain) {
            this.plain = plain;
        }

        @Override
        public void left() {
            // OkHttp does not notice: its connections of the old network would time out.
            plain.evictAll();
        }

        @Override
        public void changed(String name, boolean metered, NetworkKind kind) {
            // The engine keeps a salted digest of it.
            Commute.networkChanged(name.getBytes(StandardCharsets.UTF_8), metered, kind);
        }

        @Override
        public void lost() {
            Commute.networkLost();
        }
    }
}
