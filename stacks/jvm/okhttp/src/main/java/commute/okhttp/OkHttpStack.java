package commute.okhttp;

import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import javax.net.SocketFactory;
import okhttp3.Dispatcher;

/** OkHttp, any version from 3.14 on, over the runtime's first TLS provider. */
public final class OkHttpStack implements Stack {
    private final String version;
    private final String tls;
    private final SocketFactory sockets;

    /** {@code sockets} make the TCP sockets. */
    public OkHttpStack(String version, String tls, SocketFactory sockets) {
        this.version = version;
        this.tls = tls;
        this.sockets = sockets;
    }

    @Override
    public Identity identity() throws Exception {
        return new Identity("OkHttp", version, tls)
                .protocols("h1", "h2")
                .capabilities("mtls", "resume", "parallel", "cancel")
                .phase("dns", "EventListener.dnsEnd")
                .phase("connect", "EventListener.secureConnectStart, which follows TCP's connect")
                .phase("tls", "EventListener.secureConnectEnd")
                .phase("request_sent", "EventListener.requestBodyEnd or, without a body, requestHeadersEnd; over HTTP/1.1 the last 8 KiB are flushed just after")
                .phase("first_byte", "EventListener.responseHeadersEnd: the head is read whole")
                .phase("end", "body read to its end on the dispatcher's thread")
                .setting("TCP_NODELAY", sockets.createSocket().getTcpNoDelay() ? "on" : "off")
                .setting("pool", "5 idle connections, 5 min (stock)")
                .setting("h2 receive window", "16 MiB for a stream and for the connection (stock)")
                .setting("h2 connections", "calls that start while the first connection is being opened open their own, and all but one of these are thrown away")
                .setting("h2 pings", "none (stock)")
                .setting("dispatcher", "no limit on calls a host (stock: " + new Dispatcher().getMaxRequestsPerHost() + ")")
                .setting("retries", "retryOnConnectionFailure(false)")
                .setting("redirects", "not followed")
                .setting("accept-encoding", "identity (stock: gzip)");
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new OkHttpSession(setup, sockets);
    }
}
