package commute.okhttp;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.Wire;
import commute.driver.Witness;
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

/** Watches all calls: stamps their phases and knows their connections. */
final class Connections implements EventListener.Factory {
    private final Witness witness;
    private final AtomicInteger opened = new AtomicInteger();
    /** A connection is known by its handshake, the one thing both ends of its opening show. */
    private final Map<Handshake, Wire> wires = Collections.synchronizedMap(new IdentityHashMap<>());
    private final Set<ConnectionPool> retired = Collections.newSetFromMap(new ConcurrentHashMap<>());

    Connections(Witness witness) {
        this.witness = witness;
    }

    /** Its connections take no new calls and close with their last. */
    void retire(ConnectionPool pool) {
        retired.add(pool);
        pool.evictAll();
    }

    /** A call has let go of its connection. */
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
        /** Of the connection that this call has opened, if it has. */
        private volatile Handshake own;

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
            witness.handshakeBegins();
        }

        @Override
        public void secureConnectEnd(Call call, Handshake handshake) {
            trace.stamp(Phase.TLS);
            own = handshake;
            Wire wire = new Wire(opened.incrementAndGet());
            wire.resumed = witness.resumed();
            wires.put(handshake, wire);
        }

        @Override
        public void connectFailed(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol, IOException failure) {
            own = null;
        }

        @Override
        public void connectionAcquired(Call call, Connection connection) {
            Wire wire = wires.get(connection.handshake());
            wire.localPort = connection.socket().getLocalPort();
            wire.protocol = connection.protocol() == Protocol.HTTP_2 ? "h2" : "h1";
            trace.carriedBy(wire, connection.handshake() == own);
        }

        @Override
        public void requestHeadersStart(Call call) {
            trace.attempt();
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
