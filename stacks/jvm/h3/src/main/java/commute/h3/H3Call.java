package commute.h3;

import commute.driver.Message;
import commute.driver.ReceivedBody;
import commute.driver.Seeded;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Trace;
import commute.driver.Trace.Phase;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http3.DefaultHttp3DataFrame;
import io.netty.handler.codec.http3.DefaultHttp3HeadersFrame;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.http3.Http3DataFrame;
import io.netty.handler.codec.http3.Http3ErrorCode;
import io.netty.handler.codec.http3.Http3Headers;
import io.netty.handler.codec.http3.Http3HeadersFrame;
import io.netty.handler.codec.http3.Http3RequestStreamInboundHandler;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicStreamChannel;
import io.netty.util.concurrent.Future;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** One request on its own stream. Confined to the event loop once started. */
final class H3Call implements Stack.Call {
    private final H3Stack.H3Session session;
    private final Http3HeadersFrame head = new DefaultHttp3HeadersFrame();
    /** Null if the request has none, or until the message is encoded. */
    private ByteBuf body;
    /** The message to exchange; else null. */
    private final Message message;
    private Trace trace;
    private H3Connection connection;
    private QuicStreamChannel stream;
    private boolean sentEarly;
    private boolean aborted;
    private boolean released;

    H3Call(H3Stack.H3Session session, Step step) {
        this.session = session;
        message = step.message;
        Http3Headers headers = head.headers()
                .scheme("https").authority(session.setup.host + ":" + session.setup.port);
        headers.add("x-commute-id", Long.toString(step.id));
        switch (step.kind) {
            case CALL:
                body = Unpooled.wrappedBuffer(step.body.getBytes(StandardCharsets.UTF_8));
                headers.method("POST").path("/echo").add("content-type", "application/json");
                break;
            case FETCH:
                byte[] content = step.fetch.bodyOfMethod();
                body = content == null ? null : Unpooled.wrappedBuffer(content);
                headers.method(step.fetch.method).path(step.fetch.path);
                step.fetch.headers.forEach((name, value) -> headers.add(name, value));
                break;
            case PUT:
                body = Unpooled.wrappedBuffer(Seeded.atLeast(step.bytes), 0, step.bytes);
                headers.method("PUT").path("/upload").add("content-type", "application/octet-stream");
                break;
            case EXCHANGE:
                headers.method("POST").path("/exchange/" + message.kind)
                        .add("content-type", message.contentType).add("accept-encoding", message.contentEncoding);
                if (message.isCompressed()) {
                    headers.add("content-encoding", message.contentEncoding);
                }
                break;
            default:
                headers.method("GET").path("/bytes/" + step.bytes);
        }
        addContentLength();
    }

    private void addContentLength() {
        if (body != null) {
            head.headers().add("content-length", Integer.toString(body.readableBytes()));
        }
    }

    Trace trace() {
        return trace;
    }

    @Override
    public void start(Trace trace) throws Exception {
        this.trace = trace;
        if (message != null) {
            body = Unpooled.wrappedBuffer(message.encode(trace));
            addContentLength();
        }
        session.loop.execute(() -> session.begin(this));
    }

    @Override
    public void abort() {
        session.loop.execute(() -> {
            aborted = true;
            if (stream != null) {
                cancel();
            } else if (connection != null) {
                connection.stopWaiting(this);
            }
        });
    }

    private void cancel() {
        stream.shutdown(Http3ErrorCode.H3_REQUEST_CANCELLED.code(), stream.newPromise());
    }

    /** Records that the call waits for that connection to open. */
    void waitFor(H3Connection connection) {
        this.connection = connection;
    }

    void send(QuicChannel quic, H3Connection connection) {
        this.connection = connection;
        Http3.newRequestStream(quic, new Response()).addListener((Future<QuicStreamChannel> created) -> {
            if (created.isSuccess()) {
                stream = created.getNow();
                if (aborted) {
                    cancel();
                } else {
                    write();
                }
            } else {
                fail(created.cause(), connection);
            }
        });
    }

    private void write() {
        trace.countAttempt();
        sentEarly = connection.isEarly();
        int bytes = body == null ? 0 : body.readableBytes();
        ChannelFuture written;
        if (bytes == 0) {
            written = stream.writeAndFlush(head);
        } else {
            stream.write(head);
            written = stream.writeAndFlush(new DefaultHttp3DataFrame(body));
        }
        written.addListener(QuicStreamChannel.SHUTDOWN_OUTPUT).addListener(done -> {
            if (done.isSuccess()) {
                trace.stamp(Phase.REQUEST_SENT);
                trace.requestBytes(bytes);
            }
        });
    }

    void fail(Throwable failure, H3Connection connection) {
        connection.fail(trace, failure);
        release();
    }

    private void release() {
        if (!released && connection != null) {
            released = true;
            connection.callEnded();
        }
    }

    private final class Response extends Http3RequestStreamInboundHandler {
        private final ReceivedBody received = new ReceivedBody();
        private long expectedBytes;
        private boolean complete;

        @Override
        protected void channelRead(ChannelHandlerContext context, Http3HeadersFrame frame) {
            if (!trace.isStamped(Phase.FIRST_BYTE)) {
                trace.stamp(Phase.FIRST_BYTE);
                trace.status(Integer.parseInt(frame.headers().status().toString()));
                boolean accepted = sentEarly && !connection.hasResent();
                trace.earlyData(accepted);
                if (sentEarly && !accepted) {
                    // quiche resent the request as soon as the handshake was done.
                    trace.stamp(Phase.REQUEST_SENT, connection.handshakeDoneNs());
                }
                expectedBytes = frame.headers().getLong("content-length", 0);
            }
        }

        @Override
        protected void channelRead(ChannelHandlerContext context, Http3DataFrame frame) {
            received.add(ByteBufUtil.getBytes(frame.content()));
            frame.release();
        }

        @Override
        protected void channelInputClosed(ChannelHandlerContext context) {
            complete = true;
            try {
                received.requireLength(expectedBytes);
                trace.complete(received);
            } catch (EOFException failure) {
                trace.fail(failure);
            }
            context.close();
            release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable failure) {
            fail(failure, connection);
            context.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) throws Exception {
            if (!complete) {
                fail(new IOException("unexpected end of stream"), connection);
            }
            super.channelInactive(context);
        }
    }
}
