package commute.client;

import java.io.IOException;
import java.net.ProtocolException;
import java.net.Socket;
import java.net.SocketException;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import okhttp3.CipherSuite;
import okhttp3.Connection;
import okhttp3.Handshake;
import okhttp3.Interceptor;
import okhttp3.Protocol;
import okhttp3.Response;
import okhttp3.ResponseBody;
import okhttp3.TlsVersion;

/**
 * A network interceptor that makes a response from the engine look as the server sent it, and notes
 * how it came.
 */
final class ResponseInterceptor implements Interceptor {
    private static final Protocol HTTP_3 = http3();

    @Override
    public Response intercept(Chain chain) throws IOException {
        Attempt attempt = chain.request().tag(Attempt.class);
        Connection connection = chain.connection();
        Socket socket = connection == null ? null : connection.socket();
        EngineSslSocket engine = socket instanceof EngineSslSocket ? (EngineSslSocket) socket : null;
        if (engine != null) {
            // A network interceptor may have changed the request since its route was chosen.
            PlainReason own = Route.ownConnection(chain.request());
            if (own != null) {
                throw new EngineUnavailableException(own, "by a network interceptor");
            }
            // The pool may have it from a call of another client.
            engine.setOptions(chain.connectTimeoutMillis(), attempt);
        }
        Response response;
        try {
            response = chain.proceed(chain.request());
        } catch (IOException failure) {
            if (engine != null) {
                FailedCalls.put(chain.call(), engine.report());
            }
            throw failure;
        }
        FailedCalls.remove(chain.call());
        if (attempt == null) {
            return response;
        }
        if (engine == null) {
            requireOneLength(response, connection);
        }
        attempt.answered();
        RouteReport report = attempt.plain();
        Response.Builder changed = response.newBuilder();
        if (engine != null) {
            report = engine.report();
            if (report == null) {
                // It was cancelled since; reading the body would fail with this.
                response.close();
                throw new SocketException("Socket closed");
            }
            asServerSentIt(changed, response, engine, report);
        } else if (report == null) {
            // A redirect led away from https.
            report = RouteReport.plain(PlainReason.CLEARTEXT, null);
        }
        return changed.request(response.request().newBuilder().tag(RouteReport.class, report).build()).build();
    }

    private static void asServerSentIt(
            Response.Builder changed, Response response, EngineSslSocket socket, RouteReport report) {
        changed.protocol(protocol(report.httpVersion()));
        if (report.chunkedHere()) {
            changed.removeHeader("Transfer-Encoding");
            String length = response.header("Content-Length");
            ResponseBody body = response.body();
            if (length != null && body != null) {
                changed.body(ResponseBody.create(body.source(), body.contentType(), bytes(length)));
            }
        }
        List<X509Certificate> chain = socket.engine().trust.knownChain(socket.host());
        List<Certificate> peer = chain == null ? Collections.emptyList() : new ArrayList<>(chain);
        CipherSuite suite = CipherSuite.forJavaName(EngineSession.CIPHER_SUITE);
        List<Certificate> local = response.handshake().localCertificates();
        changed.handshake(Handshake.get(TlsVersion.TLS_1_3, suite, peer, local));
    }

    /** Returns a length, or -1 for one beyond a long, as OkHttp does. */
    private static long bytes(String length) {
        try {
            return Long.parseLong(length);
        } catch (NumberFormatException tooLong) {
            return -1;
        }
    }

    /**
     * Refuses a response whose lengths conflict: OkHttp would take the last one, and what follows for the next
     * response. The engine refuses it, too.
     */
    private static void requireOneLength(Response response, Connection connection) throws IOException {
        Set<String> lengths = new HashSet<>();
        for (String value : response.headers("Content-Length")) {
            for (String length : value.split(",")) {
                lengths.add(length.trim());
            }
        }
        if (lengths.size() > 1) {
            if (connection != null && response.protocol() != Protocol.HTTP_2) {
                connection.socket().close();
            }
            response.close();
            throw new ProtocolException("the server's content lengths conflict: " + lengths);
        }
    }

    private static Protocol protocol(int httpVersion) {
        switch (httpVersion) {
            case 3:
                return HTTP_3;
            case 2:
                return Protocol.HTTP_2;
            default:
                return Protocol.HTTP_1_1;
        }
    }

    /** Returns OkHttp's name of HTTP/3, or QUIC with OkHttp 4, which has no HTTP_3. */
    static Protocol http3() {
        try {
            return Protocol.get("h3");
        } catch (IOException okHttp4) {
            return Protocol.QUIC;
        }
    }
}
