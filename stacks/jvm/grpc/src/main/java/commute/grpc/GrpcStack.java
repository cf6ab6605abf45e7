package commute.grpc;

import commute.driver.Credentials;
import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Witness;
import io.grpc.ManagedChannel;
import java.util.concurrent.atomic.AtomicInteger;

/** grpc-java over one of its transports. */
final class GrpcStack implements Stack {
    private final Identity identity;
    private final Transport.Maker maker;

    GrpcStack(Identity identity, Transport.Maker maker) {
        this.identity = identity;
        this.maker = maker;
    }

    @Override
    public Identity identity() {
        return identity;
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new GrpcSession(setup, maker);
    }

    /** One origin. A channel has at most one connection, which its first call opens. */
    private static final class GrpcSession implements Session {
        private final Transport transport;
        private final Witness witness;
        private final AtomicInteger opened = new AtomicInteger();
        private Openings openings;
        private ManagedChannel channel;

        GrpcSession(Setup setup, Transport.Maker maker) throws Exception {
            witness = new Witness(new Credentials(setup).trust());
            transport = maker.of(setup, witness);
            open(Reconnect.COLD);
        }

        private void open(Reconnect mode) throws Exception {
            openings = new Openings(witness, opened);
            channel = transport.channel(mode, openings)
                    .disableRetry()
                    .proxyDetector(address -> null)
                    .addTransportFilter(openings)
                    .build();
        }

        @Override
        public void reconnect(Reconnect mode) throws Exception {
            channel.shutdown();
            open(mode);
        }

        @Override
        public Exchange prepare(Step step) throws Exception {
            return new GrpcExchange(step, () -> channel, () -> openings);
        }

        @Override
        public void close() {
            channel.shutdownNow();
            transport.close();
        }
    }
}
