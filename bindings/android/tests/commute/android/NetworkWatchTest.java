package commute.android;

import static org.junit.jupiter.api.Assertions.assertEquals;

import android.net.IpPrefix;
import android.net.LinkProperties;
import android.net.Network;
import android.net.NetworkCapabilities;
import android.net.RouteInfo;
import commute.client.NetworkKind;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is reported of networks, by Android's own classes without a device. */
final class NetworkWatchTest {
    private final List<String> told = new ArrayList<>();
    private final NetworkWatch watch = new NetworkWatch(
            new NetworkWatch.Listener() {
                @Override
                public void left() {
                    told.add("left");
                }

                @Override
                public void changed(String name, boolean metered, NetworkKind kind) {
                    told.add(kind + " " + name + (metered ? " metered" : ""));
                }

                @Override
                public void lost() {
                    told.add("lost");
                }
            },
            () -> "26201");

    @Test
    void aWifiIsKnownByItsGatewayAndNameServer() throws Exception {
        enter(1, wifi(), links("192.168.1.1", "192.168.1.53"));
        assertTold("WIFI other 192.168.1.1 192.168.1.53");
    }

    /** A router's IPv6 name server comes after DHCP's. */
    @Test
    void whatComesLaterMakesNoOtherNetworkOfIt() throws Exception {
        enter(1, wifi(), links("192.168.1.1", "192.168.1.53"));
        LinkProperties later = links("192.168.1.1", "192.168.1.53");
        later.addRoute(route("::", "fe80::1"));
        later.addDnsServer(InetAddress.getByName("fd00::53"));
        watch.onLinkPropertiesChanged(new Network(1), later);
        assertTold("WIFI other 192.168.1.1 192.168.1.53");
        // When the phone is back, all of it may be there at once.
        enter(2, wifi(), later);
        assertTold("WIFI other 192.168.1.1 192.168.1.53", "left", "WIFI other 192.168.1.1 192.168.1.53");
    }

    @Test
    void nothingIsToldBeforeThereIsARoute() throws Exception {
        LinkProperties none = new LinkProperties();
        none.addDnsServer(InetAddress.getByName("192.168.1.53"));
        enter(1, wifi(), none);
        assertTold();
        watch.onLinkPropertiesChanged(new Network(1), links("192.168.1.1", "192.168.1.53"));
        assertTold("WIFI other 192.168.1.1 192.168.1.53");
    }

    @Test
    void aNetworkThatBecomesMeteredIsToldAgain() throws Exception {
        enter(1, wifi(), links("192.168.1.1", "192.168.1.53"));
        watch.onCapabilitiesChanged(new Network(1), wifi());
        NetworkCapabilities metered = wifi();
        metered.removeCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        watch.onCapabilitiesChanged(new Network(1), metered);
        watch.onCapabilitiesChanged(new Network(1), wifi());
        String name = "WIFI other 192.168.1.1 192.168.1.53";
        assertTold(name, name + " metered", name);
    }

    @Test
    void aMobileNetworkIsKnownByItsOperator() throws Exception {
        NetworkCapabilities mobile = new NetworkCapabilities();
        mobile.addTransportType(NetworkCapabilities.TRANSPORT_CELLULAR);
        mobile.removeCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        enter(1, mobile, links("10.0.0.1", "10.0.0.2"));
        watch.onLost(new Network(1));
        enter(2, mobile, links("10.7.0.1", "10.7.0.2"));
        assertTold("CELLULAR cellular 26201 metered", "lost", "CELLULAR cellular 26201 metered");
    }

    @Test
    void aVpnNeedsNoGateway() throws Exception {
        NetworkCapabilities vpn = wifi();
        vpn.addTransportType(NetworkCapabilities.TRANSPORT_VPN);
        enter(1, vpn, new LinkProperties());
        assertTold("WIFI vpn other");
    }

    /** It keeps its name, and what was learnt there. */
    @Test
    void aVpnThatMovesToAnotherKindOfNetworkIsToldAgain() throws Exception {
        NetworkCapabilities vpn = wifi();
        vpn.addTransportType(NetworkCapabilities.TRANSPORT_VPN);
        enter(1, vpn, new LinkProperties());
        NetworkCapabilities moved = wifi();
        moved.addTransportType(NetworkCapabilities.TRANSPORT_VPN);
        moved.addTransportType(NetworkCapabilities.TRANSPORT_CELLULAR);
        watch.onCapabilitiesChanged(new Network(1), moved);
        assertTold("WIFI vpn other", "CELLULAR vpn other");
    }

    @Test
    void aCableIsOneAndSomethingElseIsOther() throws Exception {
        NetworkCapabilities cable = new NetworkCapabilities();
        cable.addCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        cable.addTransportType(NetworkCapabilities.TRANSPORT_ETHERNET);
        enter(1, cable, links("192.168.1.1", "192.168.1.53"));
        NetworkCapabilities bluetooth = new NetworkCapabilities();
        bluetooth.addTransportType(NetworkCapabilities.TRANSPORT_BLUETOOTH);
        enter(2, bluetooth, links("192.168.44.1", "192.168.44.1"));
        assertTold(
                "ETHERNET other 192.168.1.1 192.168.1.53", "left", "OTHER other 192.168.44.1 192.168.44.1 metered");
    }

    private void enter(int network, NetworkCapabilities capabilities, LinkProperties links) {
        watch.onAvailable(new Network(network));
        watch.onCapabilitiesChanged(new Network(network), capabilities);
        watch.onLinkPropertiesChanged(new Network(network), links);
    }

    private void assertTold(String... expected) {
        assertEquals(Arrays.asList(expected), told);
    }

    private static NetworkCapabilities wifi() {
        NetworkCapabilities capabilities = new NetworkCapabilities();
        capabilities.addTransportType(NetworkCapabilities.TRANSPORT_WIFI);
        capabilities.addCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED);
        return capabilities;
    }

    private static LinkProperties links(String gateway, String nameServer) throws UnknownHostException {
        LinkProperties links = new LinkProperties();
        links.addRoute(route("0.0.0.0", gateway));
        links.addDnsServer(InetAddress.getByName(nameServer));
        return links;
    }

    private static RouteInfo route(String all, String gateway) throws UnknownHostException {
        return new RouteInfo(new IpPrefix(InetAddress.getByName(all), 0), InetAddress.getByName(gateway));
    }
}
