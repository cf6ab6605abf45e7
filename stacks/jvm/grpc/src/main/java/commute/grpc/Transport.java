package commute.grpc;

import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Witness;
import io.grpc.ManagedChannelBuilder;
import io.grpc.internal.GrpcUtil;

/** Makes channels over one of grpc-java's transports. */
interface Transport {
    /** One whose connections open in that mode, which is told to {@code openings}. */
    ManagedChannelBuilder<?> channel(Stack.Reconnect mode, Openings openings) throws Exception;

    /** Its threads are no longer wanted. */
    default void close() {}

    interface Maker {
        Transport of(Setup setup, Witness witness) throws Exception;
    }

    /** What both transports have in common. */
    static Identity identity(String stack, String tls) {
        return new Identity(stack, GrpcUtil.getGrpcBuildVersion().getImplementationVersion(), tls)
                .protocols("grpc")
                .phase("request_sent", "ClientStreamTracer.outboundMessageSent: the last message framed and given to the transport")
                .phase("first_byte", "ClientStreamTracer.inboundHeaders")
                .phase("end", "StreamObserver.onCompleted on the channel's executor")
                .setting("first request", "waits for the server's SETTINGS, which come after the handshake (stock)")
                .setting("retries", "disableRetry()")
                .setting("stub", "asynchronous, generated for the lite runtime")
                .setting("upload chunks", GrpcExchange.CHUNK_BYTES + " bytes, sent while the call is ready for more")
                .setting("deadline", "none; the driver cancels, so no grpc-timeout is sent")
                .setting("keep-alive pings", "none (stock)");
    }
}
