package commute.grpc;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.Wire;
import commute.driver.Witness;
import io.grpc.Attributes;
import io.grpc.ClientTransportFilter;
import io.grpc.Grpc;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Watches one channel open its connections, which it does one after another. */
final class Openings extends ClientTransportFilter {
    private final Witness witness;
    private final AtomicInteger opened;
    private final Map<SocketAddress, Opening> openings = new ConcurrentHashMap<>();
    private volatile long connectedNs;
    private volatile long securedNs;
    private volatile int questionsBefore;

    Openings(Witness witness, AtomicInteger opened) {
        this.witness = witness;
        this.opened = opened;
    }

    /** TCP has connected, TLS begins. */
    void connected() {
        connectedNs = System.nanoTime();
        questionsBefore = witness.questions();
    }

    /** TLS is done. */
    void secured() {
        securedNs = System.nanoTime();
    }

    /** HTTP/2's settings have come too: calls may begin. */
    @Override
    public Attributes transportReady(Attributes transport) {
        SocketAddress local = transport.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR);
        Wire wire = new Wire(opened.incrementAndGet());
        wire.localPort = ((InetSocketAddress) local).getPort();
        wire.protocol = "grpc";
        wire.resumed = witness.questions() == questionsBefore;
        openings.put(local, new Opening(wire, connectedNs, securedNs));
        return transport;
    }

    /** A call's stream was made on this transport. The first such call had it opened. */
    void carries(Attributes transport, Trace trace) {
        Opening opening = openings.get(transport.get(Grpc.TRANSPORT_ATTR_LOCAL_ADDR));
        boolean opener = opening.first.compareAndSet(null, trace) || opening.first.get() == trace;
        trace.carriedBy(opening.wire, opener);
        // A call that was given up may have had it opened, and this one come later.
        if (opener && opening.connectedNs > trace.startNs()) {
            trace.stamp(Phase.CONNECT, opening.connectedNs);
            trace.stamp(Phase.TLS, opening.securedNs);
        }
    }

    private static final class Opening {
        final Wire wire;
        final long connectedNs;
        final long securedNs;
        final AtomicReference<Trace> first = new AtomicReference<>();

        Opening(Wire wire, long connectedNs, long securedNs) {
            this.wire = wire;
            this.connectedNs = connectedNs;
            this.securedNs = securedNs;
        }
    }
}
