package commute.client;

import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.util.List;
import javax.net.SocketFactory;
import javax.net.ssl.HostnameVerifier;
import javax.net.ssl.X509TrustManager;
import okhttp3.CertificatePinner;
import okhttp3.Dns;
import okhttp3.HttpUrl;
import okhttp3.Request;

/** Decides whether a call goes by an engine, and by which. */
final class Route {
    /** Null if {@link #plain} is not. */
    final Engine engine;

    final Attempt plain;

    private Route(Engine engine, Attempt plain) {
        this.engine = engine;
        this.plain = plain;
    }

    /** What of a client's configuration matters here. */
    static final class Client {
        Proxy proxy;
        ProxySelector proxySelector;
        SocketFactory socketFactory;
        Dns dns;
        X509TrustManager trustManager;
        HostnameVerifier verifier;
        CertificatePinner pinner;
    }

    static Route of(Request request, Client client) {
        PlainReason reason = plainReason(request, client);
        if (reason != null) {
            return plainly(reason, null);
        }
        String missing = NativeLibrary.missing();
        if (missing != null) {
            return plainly(PlainReason.NO_LIBRARY, missing);
        }
        try {
            TrustContext trust = new TrustContext(client.trustManager, client.verifier, client.pinner);
            return new Route(Engines.of(trust), null);
        } catch (RuntimeException failed) {
            return plainly(PlainReason.ENGINE, failed.getMessage());
        }
    }

    /** Returns why a request needs a connection of its own, which it closes or changes; null if it does not. */
    static PlainReason ownConnection(Request request) {
        if (request.header("Upgrade") != null
                || request.method().equals("CONNECT")
                || hasOption(request, "upgrade")) {
            return PlainReason.UPGRADE;
        }
        return hasOption(request, "close") ? PlainReason.CONNECTION_FIELD : null;
    }

    private static boolean hasOption(Request request, String name) {
        for (String value : request.headers("Connection")) {
            for (String option : value.split(",")) {
                if (option.trim().equalsIgnoreCase(name)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static Route plainly(PlainReason reason, String detail) {
        return new Route(null, Attempt.plainly(reason, detail));
    }

    private static PlainReason plainReason(Request request, Client client) {
        HttpUrl url = request.url();
        PlainReason off = Switches.off(url);
        if (off != null) {
            return off;
        }
        if (!url.isHttps()) {
            return PlainReason.CLEARTEXT;
        }
        if (TrustContext.isChecking()) {
            return PlainReason.IN_TRUST_CHECK;
        }
        PlainReason own = ownConnection(request);
        if (own != null) {
            return own;
        }
        if (request.body() != null && request.body().isDuplex()) {
            return PlainReason.DUPLEX;
        }
        if (request.header("Host") != null) {
            return PlainReason.HOST_HEADER;
        }
        if (LenientOrigins.contains(url)) {
            return PlainReason.MALFORMED_HEAD;
        }
        if (client.dns != Dns.SYSTEM) {
            return PlainReason.DNS;
        }
        if (client.socketFactory != SocketFactory.getDefault()) {
            return PlainReason.SOCKET_FACTORY;
        }
        if (client.trustManager == null) {
            return PlainReason.NO_TRUST_MANAGER;
        }
        return usesProxy(url, client) ? PlainReason.PROXY : null;
    }

    private static boolean usesProxy(HttpUrl url, Client client) {
        if (client.proxy != null) {
            return client.proxy.type() != Proxy.Type.DIRECT;
        }
        URI uri = Origin.of(url).uri;
        if (uri.getHost() == null) {
            // E.g. with an underscore. OkHttp asks no selector then.
            return false;
        }
        List<Proxy> proxies = client.proxySelector.select(uri);
        return proxies != null && !proxies.isEmpty() && proxies.get(0).type() != Proxy.Type.DIRECT;
    }

    /** A server's URI, which selectors get from OkHttp, too: without the path. The last one is kept. */
    private static final class Origin {
        private static volatile Origin last;

        private final String host;
        private final int port;
        final URI uri;

        private Origin(HttpUrl url) {
            host = url.host();
            port = url.port();
            uri = new HttpUrl.Builder().scheme(url.scheme()).host(host).port(port).build().uri();
        }

        /** Returns the origin of an {@code https} URL. */
        static Origin of(HttpUrl url) {
            Origin kept = last;
            if (kept == null || kept.port != url.port() || !kept.host.equals(url.host())) {
                kept = new Origin(url);
                last = kept;
            }
            return kept;
        }
    }
}
