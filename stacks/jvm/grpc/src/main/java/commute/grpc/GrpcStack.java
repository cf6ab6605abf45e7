package commute.grpc;

import commute.driver.Credentials;
import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.RecordingTrustManager;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.concurrent.atomic.AtomicInteger;

/** grpc-java over one of its transports. */
final class GrpcStack implements Stack {
    private final StackInfo info;
    private final Transport.Factory transports;

    GrpcStack(StackInfo info, Transport.Factory transports) {
        this.info = info;
        this.transports = transports;
    }

    @Override
    public StackInfo info() {
        return info;
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new GrpcSession(setup, transports);
    }

    /** One origin. Its channel has at most one connection, which the first call opens. */
    private static final class GrpcSession implements Session {
        private final Setup setup;
        private final Transport transport;
        private final RecordingTrustManager trustManager;
        private final AtomicInteger opened = new AtomicInteger();
        private ConnectionTracker tracker;
        private ManagedChannel channel;

        GrpcSession(Setup setup, Transport.Factory transports) throws Exception {
            this.setup = setup;
            trustManager = new RecordingTrustManager(new Credentials(setup).trustManager());
            transport = transports.create(setup, trustManager);
            open(Reconnect.COLD);
        }

        private void open(Reconnect mode) throws Exception {
            tracker = new ConnectionTracker(trustManager, opened);
            ManagedChannelBuilder<?> builder = transport.channel(mode, tracker);
            if (setup.isPlaintext()) {
                builder.usePlaintext();
            }
            channel = builder
                    .disableRetry()
                    .proxyDetector(address -> null)
                    .addTransportFilter(tracker)
                    .build();
        }

        @Override
        public void reconnect(Reconnect mode) throws Exception {
            channel.shutdown();
            open(mode);
        }

        @Override
        public Call prepare(Step step) throws Exception {
            return new GrpcCall(setup.auth, step, () -> channel, () -> tracker);
        }

        @Override
        public void close() {
            channel.shutdownNow();
            transport.close();
        }
    }
}
