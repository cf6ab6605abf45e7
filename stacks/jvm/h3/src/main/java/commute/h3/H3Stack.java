package commute.h3;

import commute.driver.Credentials;
import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Witness;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.quic.QuicSslContext;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.util.Version;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Netty's HTTP/3 over its QUIC, which is quiche with BoringSSL. */
final class H3Stack implements Stack {
    @Override
    public Identity identity() {
        return new Identity("Netty HTTP/3", Version.identify().get("netty-codec-http3").artifactVersion(), "BoringSSL in Netty's quiche")
                .protocols("h3")
                .capabilities("mtls", "resume", "early_data", "parallel", "cancel")
                .phase("dns", "InetAddress.getByName returned")
                .phase("tls", "SslHandshakeCompletionEvent of the QUIC channel")
                .phase("request_sent", "write of the last frame completed: quiche has taken it")
                .phase("first_byte", "HEADERS frame read")
                .phase("end", "ChannelInputShutdown on the event loop")
                .setting("QUIC windows", H3Connection.CONNECTION_WINDOW + " bytes for the connection, " + H3Connection.STREAM_WINDOW
                        + " a stream, grown by quiche (Netty ships none; these are of its examples)")
                .setting("idle time-out", H3Connection.IDLE_SECONDS + " s")
                .setting("congestion control", "quiche's default")
                .setting("sockets", "NIO, one datagram a system call, one socket a connection")
                .setting("tickets", "any resumption offers early data; only an early_data step's call is sent as such")
                .setting("retries", "none");
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new H3Session(setup);
    }

    /** One origin. Everything that happens to its connections does so on one event loop. */
    static final class H3Session implements Session {
        final Setup setup;
        final Witness witness;
        final AtomicInteger opened = new AtomicInteger();
        final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        private QuicSslContext tickets;
        private Reconnect mode = Reconnect.COLD;
        /** Null until a call needs one. */
        private H3Connection connection;

        H3Session(Setup setup) throws Exception {
            this.setup = setup;
            witness = new Witness(new Credentials(setup).trust());
            tickets = noTickets();
        }

        private QuicSslContext noTickets() {
            QuicSslContextBuilder tls = QuicSslContextBuilder.forClient()
                    .trustManager(witness)
                    .applicationProtocols(Http3.supportedApplicationProtocols())
                    .earlyData(true);
            if (setup.clientCertFile != null) {
                tls.keyManager(setup.clientKeyFile, null, setup.clientCertFile);
            }
            return tls.build();
        }

        /** On the event loop: the connection that calls share, opened by the first of them. */
        void begin(H3Exchange exchange) {
            if (connection == null || connection.isOver()) {
                connection = new H3Connection(this, tickets, mode == Reconnect.EARLY_DATA);
                // Should it be lost, the next one is nobody's early data.
                mode = Reconnect.RESUME;
                connection.open(exchange.trace());
            }
            connection.carry(exchange);
        }

        @Override
        public void reconnect(Reconnect next) throws Exception {
            QuicSslContext context = next == Reconnect.COLD ? noTickets() : tickets;
            loop.submit(() -> {
                if (connection != null) {
                    connection.retire();
                    connection = null;
                }
                tickets = context;
                mode = next;
            }).sync();
        }

        @Override
        public Exchange prepare(Step step) {
            return new H3Exchange(this, step);
        }

        @Override
        public void close() throws Exception {
            reconnect(Reconnect.COLD);
            // Long enough for the connection's last packet.
            loop.shutdownGracefully(20, 100, TimeUnit.MILLISECONDS).sync();
        }
    }
}
