package commute.grpc;

import commute.driver.Credentials;
import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.RecordingTrustManager;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.Map;
import java.util.TreeMap;
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

    /** A channel for each origin; channels never share a connection. */
    private static final class GrpcSession implements Session {
        private final Setup setup;
        private final AtomicInteger opened = new AtomicInteger();
        private final Origin first;
        private final Map<String, Origin> named = new TreeMap<>();

        GrpcSession(Setup setup, Transport.Factory transports) throws Exception {
            this.setup = setup;
            first = new Origin(setup, transports, opened);
            for (Map.Entry<String, String> origin : setup.origins.entrySet()) {
                named.put(origin.getKey(), new Origin(setup.withUrl(origin.getValue()), transports, opened));
            }
        }

        @Override
        public void reconnect(Reconnect mode) throws Exception {
            first.reconnect(mode);
            for (Origin origin : named.values()) {
                origin.reconnect(mode);
            }
        }

        @Override
        public Call prepare(Step step) throws Exception {
            Origin origin = step.origin == null ? first : named.get(step.origin);
            return new GrpcCall(setup.auth, step, () -> origin.channel, () -> origin.tracker);
        }

        @Override
        public void close() {
            first.close();
            named.values().forEach(Origin::close);
        }
    }

    /** One origin. Its channel has at most one connection, which the first call opens. */
    private static final class Origin {
        private final Setup setup;
        private final Transport transport;
        private final RecordingTrustManager trustManager;
        private final AtomicInteger opened;
        private ConnectionTracker tracker;
        private ManagedChannel channel;

        Origin(Setup setup, Transport.Factory transports, AtomicInteger opened) throws Exception {
            this.setup = setup;
            this.opened = opened;
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

        void reconnect(Reconnect mode) throws Exception {
            channel.shutdown();
            open(mode);
        }

        void close() {
            channel.shutdownNow();
            transport.close();
        }
    }
}
