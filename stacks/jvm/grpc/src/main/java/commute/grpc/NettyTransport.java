package commute.grpc;

import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.RecordingTrustManager;
import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.Channel;
import io.grpc.netty.shaded.io.netty.channel.ChannelDuplexHandler;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.netty.shaded.io.netty.handler.ssl.OpenSsl;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslHandler;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLException;

/** grpc-netty-shaded over its own BoringSSL and epoll, the usual gRPC of Java servers. */
final class NettyTransport implements Transport {
    private final Setup setup;
    private final RecordingTrustManager trustManager;
    private final EventLoopGroup loops = new EpollEventLoopGroup();

    NettyTransport(Setup setup, RecordingTrustManager trustManager) {
        this.setup = setup;
        this.trustManager = trustManager;
    }

    static StackInfo info() {
        Epoll.ensureAvailability();
        OpenSsl.ensureAvailability();
        return Transport.stackInfo("grpc-netty", OpenSsl.versionString() + " (netty-tcnative)")
                .capabilities("mtls", "stream", "parallel", "protobuf", "cancel", "plaintext", "jwt", "hmac", "submit", "fetch")
                .phase("connect", "channelActive")
                .phase("tls", "SslHandler.handshakeFuture")
                .setting("TCP_NODELAY", "on (default)")
                .setting("h2 receive window", "1 MiB, grown by BDP pings (default)")
                .setting("session tickets", "none kept (default)");
    }

    /** Ignores the mode: every connection is cold. */
    @Override
    public ManagedChannelBuilder<?> channel(Stack.Reconnect mode, ConnectionTracker tracker) throws SSLException {
        SslContextBuilder tls = GrpcSslContexts.forClient().trustManager(trustManager);
        if (setup.clientCertFile != null) {
            tls.keyManager(setup.clientCertFile, setup.clientKeyFile);
        }
        return NettyChannelBuilder.forAddress(setup.host, setup.port)
                .sslContext(tls.build())
                .eventLoopGroup(loops)
                .channelFactory(() -> trackedChannel(tracker));
    }

    /**
     * Makes the channel that grpc-netty itself would make, with a tracer that leaves once TLS has
     * started.
     */
    private static Channel trackedChannel(ConnectionTracker tracker) {
        Channel channel = new EpollSocketChannel();
        channel.pipeline().addFirst(new HandshakeTracer(tracker));
        return channel;
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    private static final class HandshakeTracer extends ChannelDuplexHandler {
        private final ConnectionTracker tracker;

        HandshakeTracer(ConnectionTracker tracker) {
            this.tracker = tracker;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            tracker.connected();
            context.fireChannelActive();
        }

        /** The first write starts the TLS handshake, if there is one. */
        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            SslHandler tls = context.pipeline().get(SslHandler.class);
            if (tls != null) {
                tls.handshakeFuture().addListener(done -> tracker.handshakeDone());
            }
            context.write(message, promise);
            context.pipeline().remove(this);
        }
    }
}
