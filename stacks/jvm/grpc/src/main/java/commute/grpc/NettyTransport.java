package commute.grpc;

import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Witness;
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

/** grpc-netty-shaded over its own BoringSSL and epoll: gRPC as Java servers have it. */
final class NettyTransport implements Transport {
    private final Setup setup;
    private final Witness witness;
    private final EventLoopGroup loops = new EpollEventLoopGroup();

    NettyTransport(Setup setup, Witness witness) {
        this.setup = setup;
        this.witness = witness;
    }

    static Identity identity() {
        Epoll.ensureAvailability();
        OpenSsl.ensureAvailability();
        return Transport.identity("grpc-netty", OpenSsl.versionString() + " (netty-tcnative)")
                .capabilities("mtls", "stream", "parallel", "protobuf", "cancel")
                .phase("connect", "channelActive")
                .phase("tls", "SslHandler.handshakeFuture")
                .setting("TCP_NODELAY", "on (stock)")
                .setting("h2 receive window", "1 MiB, grown by BDP pings (stock)")
                .setting("session tickets", "none kept (stock)");
    }

    /** Always cold. */
    @Override
    public ManagedChannelBuilder<?> channel(Stack.Reconnect mode, Openings openings) throws SSLException {
        SslContextBuilder tls = GrpcSslContexts.forClient().trustManager(witness);
        if (setup.clientCertFile != null) {
            tls.keyManager(setup.clientCertFile, setup.clientKeyFile);
        }
        return NettyChannelBuilder.forAddress(setup.host, setup.port)
                .sslContext(tls.build())
                .eventLoopGroup(loops)
                .channelFactory(() -> watched(openings));
    }

    /** What grpc-netty itself makes, with a watcher that leaves when TLS is under way. */
    private static Channel watched(Openings openings) {
        Channel channel = new EpollSocketChannel();
        channel.pipeline().addFirst(new Watcher(openings));
        return channel;
    }

    @Override
    public void close() {
        loops.shutdownGracefully(0, 0, TimeUnit.MILLISECONDS);
    }

    private static final class Watcher extends ChannelDuplexHandler {
        private final Openings openings;

        Watcher(Openings openings) {
            this.openings = openings;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            openings.connected();
            context.fireChannelActive();
        }

        /** The first write is TLS's. */
        @Override
        public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
            context.pipeline().get(SslHandler.class).handshakeFuture().addListener(done -> openings.secured());
            context.write(message, promise);
            context.pipeline().remove(this);
        }
    }
}
