package commute.okhttp;

import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import javax.net.SocketFactory;
import okhttp3.Dispatcher;

/** OkHttp from version 3.14, over the runtime's first TLS provider. */
public final class OkHttpStack implements Stack {
    private final String version;
    private final String tls;
    private final SocketFactory socketFactory;

    /** {@code socketFactory} makes the TCP sockets. */
    public OkHttpStack(String version, String tls, SocketFactory socketFactory) {
        this.version = version;
        this.tls = tls;
        this.socketFactory = socketFactory;
    }

    @Override
    public StackInfo info() throws Exception {
        return new StackInfo("OkHttp", version, tls)
                .protocols("h1", "h2")
                .capabilities("mtls", "resume", "parallel", "cancel", "plaintext", "jwt", "hmac", "submit", "origins", "fetch")
                .phase("dns", "EventListener.dnsEnd")
                .phase("connect", "EventListener.secureConnectStart, which follows the TCP connect; without TLS connectEnd")
                .phase("tls", "EventListener.secureConnectEnd")
                .phase("request_sent", "EventListener.requestBodyEnd or, without a body, requestHeadersEnd; over HTTP/1.1 the last 8 KiB are flushed just after")
                .phase("first_byte", "EventListener.responseHeadersEnd: all headers have been read")
                .phase("end", "body read to its end on the dispatcher's thread")
                .setting("TCP_NODELAY", socketFactory.createSocket().getTcpNoDelay() ? "on" : "off")
                .setting("pool", "5 idle connections for 5 min (default)")
                .setting("h2 receive window", "16 MiB per stream and per connection (default)")
                .setting("h2 connections", "calls that start while the first connection is being opened open their own, and all but one are discarded")
                .setting("h2 coalescing", "a call uses the connection of another name with the same address, port and certificate (default)")
                .setting("h2 pings", "none (default)")
                .setting("dispatcher", "no limit on calls per host (default: " + new Dispatcher().getMaxRequestsPerHost() + ")")
                .setting("retries", "retryOnConnectionFailure(false)")
                .setting("redirects", "not followed")
                .setting("accept-encoding", "identity (default: gzip)");
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new OkHttpSession(setup, socketFactory, null);
    }
}
