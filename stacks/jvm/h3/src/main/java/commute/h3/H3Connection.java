package commute.h3;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.Wire;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.http3.Http3ClientConnectionHandler;
import io.netty.handler.codec.http3.Http3ErrorCode;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicConnectionCloseEvent;
import io.netty.handler.codec.quic.QuicSslContext;
import io.netty.handler.codec.quic.QuicStreamResetException;
import io.netty.handler.codec.quic.SslEarlyDataReadyEvent;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A QUIC connection and the calls that wait for it or use it. Lives on the event loop. */
final class H3Connection extends ChannelInboundHandlerAdapter {
    static final int CONNECTION_WINDOW = 10_000_000;
    static final int STREAM_WINDOW = 1_000_000;
    static final int IDLE_SECONDS = 30;

    private final H3Stack.H3Session session;
    private final QuicSslContext tickets;
    private final boolean sendEarly;
    private final int questionsBefore;
    private final List<H3Exchange> waiting = new ArrayList<>();
    private Trace opener;
    private Wire wire;
    private Channel socket;
    private QuicChannel quic;
    private boolean usable;
    private boolean used;
    private boolean early;
    private boolean retired;
    private boolean over;
    private long securedNs;
    private int calls;
    private QuicConnectionCloseEvent closed;

    H3Connection(H3Stack.H3Session session, QuicSslContext tickets, boolean sendEarly) {
        this.session = session;
        this.tickets = tickets;
        this.sendEarly = sendEarly;
        questionsBefore = session.witness.questions();
    }

    boolean isOver() {
        return over;
    }

    void open(Trace trace) {
        opener = trace;
        InetSocketAddress origin;
        try {
            origin = new InetSocketAddress(InetAddress.getByName(session.setup.host), session.setup.port);
        } catch (UnknownHostException failure) {
            fail(failure);
            return;
        }
        trace.stamp(Phase.DNS);
        ChannelHandler codec = Http3.newQuicClientCodecBuilder()
                .sslEngineProvider(channel -> tickets.newEngine(channel.alloc(), session.setup.host, session.setup.port))
                .maxIdleTimeout(IDLE_SECONDS, TimeUnit.SECONDS)
                .initialMaxData(CONNECTION_WINDOW)
                .initialMaxStreamDataBidirectionalLocal(STREAM_WINDOW)
                .build();
        new Bootstrap().group(session.loop).channel(NioDatagramChannel.class).handler(codec).bind(0)
                .addListener((ChannelFuture bound) -> {
                    if (bound.isSuccess()) {
                        socket = bound.channel();
                        connect(origin);
                    } else {
                        fail(bound.cause());
                    }
                });
    }

    private void connect(InetSocketAddress origin) {
        QuicChannel.newBootstrap(socket)
                .handler(new ChannelInitializer<QuicChannel>() {
                    @Override
                    protected void initChannel(QuicChannel channel) {
                        quic = channel;
                        channel.pipeline().addLast(new Http3ClientConnectionHandler(), H3Connection.this);
                    }
                })
                .remoteAddress(origin)
                .connect()
                .addListener((Future<QuicChannel> connected) -> {
                    if (!connected.isSuccess()) {
                        fail(connected.cause());
                    }
                });
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof SslEarlyDataReadyEvent && sendEarly) {
            early = true;
            number(true);
            // Netty is in the middle of sending; what is written now would wait for the server's answer.
            session.loop.execute(this::carryWaiting);
        } else if (event instanceof SslHandshakeCompletionEvent && ((SslHandshakeCompletionEvent) event).isSuccess()) {
            securedNs = System.nanoTime();
            opener.stamp(Phase.TLS, securedNs);
            early = false;
            number(session.witness.questions() == questionsBefore);
            carryWaiting();
        } else if (event instanceof QuicConnectionCloseEvent) {
            closed = (QuicConnectionCloseEvent) event;
        }
        context.fireUserEventTriggered(event);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        fail(new ClosedChannelException());
        context.fireChannelInactive();
    }

    private void number(boolean resumed) {
        if (wire == null) {
            wire = new Wire(session.opened.incrementAndGet());
            wire.localPort = ((InetSocketAddress) socket.localAddress()).getPort();
            wire.protocol = "h3";
        }
        wire.resumed = resumed;
    }

    private void carryWaiting() {
        usable = true;
        List<H3Exchange> ready = new ArrayList<>(waiting);
        waiting.clear();
        ready.forEach(this::send);
    }

    /** A call is to go over this connection, now or when it is open. */
    void carry(H3Exchange exchange) {
        if (over) {
            fail(exchange.trace(), new ClosedChannelException());
            return;
        }
        calls++;
        if (usable) {
            send(exchange);
        } else {
            waiting.add(exchange);
            exchange.waitsFor(this);
        }
    }

    private void send(H3Exchange exchange) {
        // The call that had it opened may have been given up.
        exchange.trace().carriedBy(wire, !used);
        used = true;
        exchange.send(quic, this);
    }

    /** The call waits no more. */
    void forget(H3Exchange exchange) {
        if (waiting.remove(exchange)) {
            released();
        }
    }

    /** Whether what is written now goes as early data. */
    boolean isEarly() {
        return early;
    }

    /** When the handshake was done. */
    long securedNs() {
        return securedNs;
    }

    /** Early data that was refused, or lost, has been sent again by now. */
    boolean hasResent() {
        return !wire.resumed || quic.collectStats().getNow().streamRetransBytes() > 0;
    }

    void released() {
        calls--;
        closeIfDone();
    }

    void retire() {
        retired = true;
        closeIfDone();
    }

    private void closeIfDone() {
        if (retired && calls == 0 && !over) {
            over = true;
            if (quic != null) {
                quic.close(true, Http3ErrorCode.H3_NO_ERROR.code(), Unpooled.EMPTY_BUFFER).addListener(done -> socket.close());
            } else if (socket != null) {
                socket.close();
            }
        }
    }

    private void fail(Throwable failure) {
        if (!over) {
            over = true;
            if (wire == null) {
                fail(opener, failure);
            }
            new ArrayList<>(waiting).forEach(exchange -> exchange.failed(failure, this));
            if (socket != null) {
                socket.close();
            }
        }
    }

    /** In the protocol's words; what the peer said when it closed weighs more than that it did. */
    void fail(Trace trace, Throwable failure) {
        if (failure instanceof QuicStreamResetException) {
            trace.failed("reset", failure.toString());
        } else if (closed == null) {
            trace.failed(failure);
        } else {
            String detail = "connection closed by the peer: error " + closed.error() + " " + new String(closed.reason(), StandardCharsets.UTF_8);
            trace.failed(closed.isTlsError() ? "tls" : "reset", detail);
        }
    }
}
