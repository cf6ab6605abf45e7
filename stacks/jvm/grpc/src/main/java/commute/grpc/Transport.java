package commute.grpc;

import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.RecordingTrustManager;
import io.grpc.ManagedChannelBuilder;
import io.grpc.internal.GrpcUtil;

/** One of grpc-java's transports. */
interface Transport {
    /**
     * Returns a builder for a channel that opens connections in that mode and reports them to
     * {@code tracker}.
     */
    ManagedChannelBuilder<?> channel(Stack.Reconnect mode, ConnectionTracker tracker) throws Exception;

    /** Stops the transport's threads. */
    default void close() {}

    /** Makes transports. */
    interface Factory {
        Transport create(Setup setup, RecordingTrustManager trustManager) throws Exception;
    }

    /** Returns what the descriptions of both transports have in common. */
    static StackInfo stackInfo(String stack, String tls) {
        return new StackInfo(stack, GrpcUtil.getGrpcBuildVersion().getImplementationVersion(), tls)
                .protocols("grpc")
                .phase("request_sent", "ClientStreamTracer.outboundMessageSent: the last message was framed and passed to the transport")
                .phase("first_byte", "ClientStreamTracer.inboundHeaders")
                .phase("end", "StreamObserver.onCompleted on the channel's executor")
                .setting("first request", "waits for the server's SETTINGS, which follow the handshake (default)")
                .setting("retries", "disableRetry()")
                .setting("stub", "asynchronous, generated for the lite runtime")
                .setting("upload chunks", GrpcCall.CHUNK_BYTES + " bytes, sent while the call is ready")
                .setting("deadline", "none; the driver cancels, so no grpc-timeout is sent")
                .setting("keep-alive pings", "none (default)");
    }
}
