package commute.h3;

import commute.driver.Credentials;
import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.RecordingTrustManager;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.quic.QuicSslContext;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.util.Version;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Netty's HTTP/3 over Netty's QUIC, which is quiche with BoringSSL. */
final class H3Stack implements Stack {
    @Override
    public StackInfo info() {
        return new StackInfo("Netty HTTP/3", Version.identify().get("netty-codec-http3").artifactVersion(), "BoringSSL in Netty's quiche")
                .protocols("h3")
                .capabilities("mtls", "resume", "early_data", "parallel", "cancel", "fetch")
                .phase("dns", "InetAddress.getByName returned")
                .phase("tls", "SslHandshakeCompletionEvent of the QUIC channel")
                .phase("request_sent", "write of the last frame completed: quiche has accepted it")
                .phase("first_byte", "HEADERS frame read")
                .phase("end", "ChannelInputShutdown on the event loop")
                .setting("QUIC windows", H3Connection.CONNECTION_WINDOW + " bytes per connection, " + H3Connection.STREAM_WINDOW
                        + " per stream, grown by quiche (Netty sets none; these are from its examples)")
                .setting("idle timeout", H3Connection.IDLE_SECONDS + " s")
                .setting("congestion control", "quiche's default")
                .setting("sockets", "NIO, one datagram per system call, one socket per connection")
                .setting("tickets", "every resumption offers early data; only a call after an early_data reconnect is sent as such")
                .setting("retries", "none");
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new H3Session(setup);
    }

    /** One origin. All events of its connections happen on one event loop. */
    static final class H3Session implements Session {
        final Setup setup;
        final RecordingTrustManager trustManager;
        final AtomicInteger opened = new AtomicInteger();
        final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        /** Owns the tickets. */
        private QuicSslContext sslContext;
        private Reconnect mode = Reconnect.COLD;
        /** Null until a call needs a connection. */
        private H3Connection connection;

        H3Session(Setup setup) throws Exception {
            this.setup = setup;
            trustManager = new RecordingTrustManager(new Credentials(setup).trustManager());
            sslContext = newSslContext();
        }

        private QuicSslContext newSslContext() {
            QuicSslContextBuilder tls = QuicSslContextBuilder.forClient()
                    .trustManager(trustManager)
                    .applicationProtocols(Http3.supportedApplicationProtocols())
                    .earlyData(true);
            if (setup.clientCertFile != null) {
                tls.keyManager(setup.clientKeyFile, null, setup.clientCertFile);
            }
            return tls.build();
        }

        /**
         * Sends a call over the shared connection, which the first call opens. Runs on the event
         * loop.
         */
        void begin(H3Call call) {
            if (connection == null || connection.isClosed()) {
                connection = new H3Connection(this, sslContext, mode == Reconnect.EARLY_DATA);
                // If the connection is lost, the next one must not send early data.
                mode = Reconnect.RESUME;
                connection.open(call.trace());
            }
            connection.carry(call);
        }

        @Override
        public void reconnect(Reconnect next) throws Exception {
            QuicSslContext context = next == Reconnect.COLD ? newSslContext() : sslContext;
            loop.submit(() -> {
                if (connection != null) {
                    connection.retire();
                    connection = null;
                }
                sslContext = context;
                mode = next;
            }).sync();
        }

        @Override
        public Call prepare(Step step) {
            return new H3Call(this, step);
        }

        @Override
        public void close() throws Exception {
            reconnect(Reconnect.COLD);
            // Long enough to send the connection's last packet.
            loop.shutdownGracefully(20, 100, TimeUnit.MILLISECONDS).sync();
        }
    }
}
