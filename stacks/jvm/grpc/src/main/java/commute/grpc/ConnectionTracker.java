package commute.grpc;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.ConnectionInfo;
import commute.driver.RecordingTrustManager;
import io.grpc.Attributes;
import io.grpc.ClientTransportFilter;
import io.grpc.Grpc;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Tracks the connections of one channel, which opens them one after another. */
final class ConnectionTracker extends ClientTransportFilter {
    private final RecordingTrustManager trustManager;
    private final AtomicInteger opened;
    private final Map<SocketAddress, TrackedConnection> connections = new ConcurrentHashMap<>();
    private volatile long connectedNs;
    private volatile long handshakeDoneNs;
    private volatile int checksBefore;

    ConnectionTracker(RecordingTrustManager trustManager, AtomicInteger opened) {
        this.trustManager = trustManager;
        this.opened = opened;
    }

    /** Records that TCP has connected, and that TLS starts if there is any. */
    void connected() {
        connectedNs = System.nanoTime();
        checksBefore = trustManager.checks();
    }

    /** Records that TLS is done. */
    void handshakeDone() {
        handshakeDoneNs = System.nanoTime();
    }

    /** Called when HTTP/2's settings have arrived too, so that calls may start. */
    @Override
    public Attributes transportReady(Attributes transport) {
        SocketAddress local = transport.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR);
        ConnectionInfo connection = new ConnectionInfo(opened.incrementAndGet());
        connection.localPort = ((InetSocketAddress) local).getPort();
        connection.protocol = "grpc";
        connection.resumed = handshakeDoneNs > connectedNs && trustManager.checks() == checksBefore;
        connections.put(local, new TrackedConnection(connection, connectedNs, handshakeDoneNs));
        return transport;
    }

    /** Records that a call's stream was made on this transport. The first such call opened it. */
    void streamCreated(Attributes transport, Trace trace) {
        TrackedConnection tracked = connections.get(transport.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR));
        boolean opener = tracked.first.compareAndSet(null, trace) || tracked.first.get() == trace;
        trace.useConnection(tracked.info, opener);
        // The call that opened the connection may have been cancelled before this one started.
        if (opener && tracked.connectedNs > trace.startNs()) {
            trace.stamp(Phase.CONNECT, tracked.connectedNs);
            if (tracked.handshakeDoneNs > tracked.connectedNs) {
                trace.stamp(Phase.TLS, tracked.handshakeDoneNs);
            }
        }
    }

    private static final class TrackedConnection {
        final ConnectionInfo info;
        final long connectedNs;
        final long handshakeDoneNs;
        final AtomicReference<Trace> first = new AtomicReference<>();

        TrackedConnection(ConnectionInfo info, long connectedNs, long handshakeDoneNs) {
            this.info = info;
            this.connectedNs = connectedNs;
            this.handshakeDoneNs = handshakeDoneNs;
        }
    }
}
