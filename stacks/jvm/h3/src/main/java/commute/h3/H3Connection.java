package commute.h3;

import commute.driver.Trace;
import commute.driver.Trace.Phase;
import commute.driver.ConnectionInfo;
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

/** A QUIC connection with the calls that wait for it or use it. Confined to the event loop. */
final class H3Connection extends ChannelInboundHandlerAdapter {
    static final int CONNECTION_WINDOW = 10_000_000;
    static final int STREAM_WINDOW = 1_000_000;
    static final int IDLE_SECONDS = 30;

    private final H3Stack.H3Session session;
    private final QuicSslContext sslContext;
    private final boolean sendsEarlyData;
    private final int checksBefore;
    private final List<H3Call> waiting = new ArrayList<>();
    private Trace opener;
    /** Null until the connection can carry calls. */
    private ConnectionInfo info;
    private Channel socket;
    private QuicChannel quic;
    private boolean usable;
    private boolean used;
    private boolean isEarly;
    private boolean retired;
    private boolean closed;
    private long handshakeDoneNs;
    private int calls;
    /** The peer's reason for closing; null if it has not closed. */
    private QuicConnectionCloseEvent closeEvent;

    H3Connection(H3Stack.H3Session session, QuicSslContext sslContext, boolean sendsEarlyData) {
        this.session = session;
        this.sslContext = sslContext;
        this.sendsEarlyData = sendsEarlyData;
        checksBefore = session.trustManager.checks();
    }

    boolean isClosed() {
        return closed;
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
                .sslEngineProvider(channel -> sslContext.newEngine(channel.alloc(), session.setup.host, session.setup.port))
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
        if (event instanceof SslEarlyDataReadyEvent && sendsEarlyData) {
            isEarly = true;
            updateInfo(true);
            // Netty is in the middle of sending: a write now would wait for the server's answer.
            session.loop.execute(this::sendWaiting);
        } else if (event instanceof SslHandshakeCompletionEvent && ((SslHandshakeCompletionEvent) event).isSuccess()) {
            handshakeDoneNs = System.nanoTime();
            opener.stamp(Phase.TLS, handshakeDoneNs);
            isEarly = false;
            updateInfo(session.trustManager.checks() == checksBefore);
            sendWaiting();
        } else if (event instanceof QuicConnectionCloseEvent) {
            closeEvent = (QuicConnectionCloseEvent) event;
        }
        context.fireUserEventTriggered(event);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        fail(new ClosedChannelException());
        context.fireChannelInactive();
    }

    private void updateInfo(boolean resumed) {
        if (info == null) {
            info = new ConnectionInfo(session.opened.incrementAndGet());
            info.localPort = ((InetSocketAddress) socket.localAddress()).getPort();
            info.protocol = "h3";
        }
        info.resumed = resumed;
    }

    private void sendWaiting() {
        usable = true;
        List<H3Call> ready = new ArrayList<>(waiting);
        waiting.clear();
        ready.forEach(this::send);
    }

    /** Sends a call over this connection, now or when it is open. */
    void carry(H3Call call) {
        if (closed) {
            fail(call.trace(), new ClosedChannelException());
            return;
        }
        calls++;
        if (usable) {
            send(call);
        } else {
            waiting.add(call);
            call.waitFor(this);
        }
    }

    private void send(H3Call call) {
        // Not necessarily the call that opened the connection: that may have been cancelled.
        call.trace().useConnection(info, !used);
        used = true;
        call.send(quic, this);
    }

    /** Removes a call that is waiting for the connection. */
    void stopWaiting(H3Call call) {
        if (waiting.remove(call)) {
            callEnded();
        }
    }

    /** Returns whether what is written now goes as early data. */
    boolean isEarly() {
        return isEarly;
    }

    /** Returns when the handshake was done, in ns of System.nanoTime. */
    long handshakeDoneNs() {
        return handshakeDoneNs;
    }

    /** Returns whether early data has been resent, because it was refused or lost. */
    boolean hasResent() {
        return !info.resumed || quic.collectStats().getNow().streamRetransBytes() > 0;
    }

    /** Records that a call on this connection has ended. */
    void callEnded() {
        calls--;
        closeIfDone();
    }

    /** Closes the connection when its last call has ended. */
    void retire() {
        retired = true;
        closeIfDone();
    }

    private void closeIfDone() {
        if (retired && calls == 0 && !closed) {
            closed = true;
            if (quic != null) {
                quic.close(true, Http3ErrorCode.H3_NO_ERROR.code(), Unpooled.EMPTY_BUFFER).addListener(done -> socket.close());
            } else if (socket != null) {
                socket.close();
            }
        }
    }

    private void fail(Throwable failure) {
        if (!closed) {
            closed = true;
            if (info == null) {
                fail(opener, failure);
            }
            new ArrayList<>(waiting).forEach(call -> call.fail(failure, this));
            if (socket != null) {
                socket.close();
            }
        }
    }

    /**
     * Classifies a failure. The peer's reason for closing the connection takes precedence over the
     * exception.
     */
    void fail(Trace trace, Throwable failure) {
        if (failure instanceof QuicStreamResetException) {
            trace.fail("reset", failure.toString());
        } else if (closeEvent == null) {
            trace.fail(failure);
        } else {
            String detail = "connection closed by the peer: error " + closeEvent.error() + " " + new String(closeEvent.reason(), StandardCharsets.UTF_8);
            trace.fail(closeEvent.isTlsError() ? "tls" : "reset", detail);
        }
    }
}
