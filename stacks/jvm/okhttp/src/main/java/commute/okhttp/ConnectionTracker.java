package commute.okhttp;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.ConnectionInfo;
import commute.driver.RecordingTrustManager;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.ConnectionPool;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;

/** Stamps the phases of all calls and tracks their connections. */
final class ConnectionTracker implements EventListener.Factory {
    private final RecordingTrustManager trustManager;
    private final AtomicInteger opened = new AtomicInteger();
    /**
     * By handshake, which identifies a connection in the events of its opening and of its use, or without
     * TLS by socket.
     */
    private final Map<Object, ConnectionInfo> connections = Collections.synchronizedMap(new IdentityHashMap<>());
    private final Set<ConnectionPool> retired = Collections.newSetFromMap(new ConcurrentHashMap<>());

    ConnectionTracker(RecordingTrustManager trustManager) {
        this.trustManager = trustManager;
    }

    /** Closes the pool's idle connections, and the busy ones after their last call. */
    void retire(ConnectionPool pool) {
        retired.add(pool);
        pool.evictAll();
    }

    /** Records that a call has released its connection. */
    void released(ConnectionPool pool) {
        if (retired.contains(pool)) {
            pool.evictAll();
        }
    }

    @Override
    public EventListener create(Call call) {
        return new Listener(call.request().tag(Trace.class));
    }

    private final class Listener extends EventListener {
        private final Trace trace;
        /** The handshake of the connection that this call opened; null if it opened none. */
        private volatile Handshake ownHandshake;

        Listener(Trace trace) {
            this.trace = trace;
        }

        @Override
        public void dnsEnd(Call call, String name, List<InetAddress> addresses) {
            trace.stamp(Phase.DNS);
        }

        @Override
        public void secureConnectStart(Call call) {
            trace.stamp(Phase.CONNECT);
            trustManager.handshakeStarted();
        }

        @Override
        public void secureConnectEnd(Call call, Handshake handshake) {
            trace.stamp(Phase.TLS);
            ownHandshake = handshake;
            ConnectionInfo info = new ConnectionInfo(opened.incrementAndGet());
            info.resumed = trustManager.resumed();
            connections.put(handshake, info);
        }

        /** Follows the TLS handshake, if there is one. */
        @Override
        public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol) {
            if (!call.request().isHttps()) {
                trace.stamp(Phase.CONNECT);
            }
        }

        @Override
        public void connectFailed(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol, IOException failure) {
            ownHandshake = null;
        }

        @Override
        public void connectionAcquired(Call call, Connection connection) {
            Handshake handshake = connection.handshake();
            boolean opener = handshake == ownHandshake;
            if (handshake == null) {
                opener = !connections.containsKey(connection.socket());
                if (opener) {
                    connections.put(connection.socket(), new ConnectionInfo(opened.incrementAndGet()));
                }
            }
            ConnectionInfo info = connections.get(handshake == null ? connection.socket() : handshake);
            info.localPort = connection.socket().getLocalPort();
            info.protocol = connection.protocol() == Protocol.HTTP_2 ? "h2" : "h1";
            trace.useConnection(info, opener);
        }

        @Override
        public void requestHeadersStart(Call call) {
            trace.countAttempt();
        }

        @Override
        public void requestHeadersEnd(Call call, Request request) {
            trace.stamp(Phase.REQUEST_SENT);
        }

        @Override
        public void requestBodyEnd(Call call, long bytes) {
            trace.stamp(Phase.REQUEST_SENT);
            trace.requestBytes(bytes);
        }

        @Override
        public void responseHeadersEnd(Call call, Response response) {
            trace.stamp(Phase.FIRST_BYTE);
        }
    }
}
