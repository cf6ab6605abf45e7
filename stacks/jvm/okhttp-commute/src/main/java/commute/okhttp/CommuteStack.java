package commute.okhttp;

import commute.client.Commute;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.StackInfo;
import javax.net.SocketFactory;
import okhttp3.OkHttp;

/** OkHttp over commute's engine: by HTTP/2, or by what it measures. */
final class CommuteStack implements Stack {
    @Override
    public StackInfo info() {
        return new StackInfo("OkHttp over commute", OkHttp.VERSION + ", commute " + Commute.VERSION, "rustls")
                .protocols("h2", "auto")
                .capabilities("mtls", "parallel", "cancel", "jwt", "hmac", "submit", "origins", "fetch")
                .phase("dns", "the engine's: getaddrinfo returned")
                .phase("connect", "the engine's: TCP connect returned")
                .phase("tls", "the engine's: TLS or QUIC handshake complete")
                .phase("request_sent", "the engine's: request handed to the transport")
                .phase("first_byte", "the engine's: response head delivered")
                .phase("end", "body read to its end on the dispatcher's thread")
                .setting("h2 windows", "5 MiB connection, 2 MiB stream")
                .setting("quic windows", "6 MiB connection, 2 MiB stream")
                .setting("tcp_nodelay", "on")
                .setting("dispatcher", "no limit on calls per host")
                .setting("retries", "the engine's: if the peer cannot have acted, or the request is idempotent")
                .setting("redirects", "not followed")
                .setting("accept-encoding", "identity (default: gzip)");
    }

    @Override
    public Session open(Setup setup) throws Exception {
        return new OkHttpSession(setup, SocketFactory.getDefault(), new CommuteCarrier(setup));
    }
}
