package commute.okhttp;

import commute.client.Commute;
import commute.client.RouteReport;
import commute.client.Settings;
import commute.driver.ConnectionInfo;
import commute.driver.Setup;
import commute.driver.Trace;
import commute.driver.Trace.Phase;
import java.io.IOException;
import java.nio.file.Files;
import okhttp3.Interceptor;
import okhttp3.OkHttpClient;
import okhttp3.RequestBody;
import okhttp3.Response;

/** The engine, told of HTTP/3 unless the protocol is pinned to HTTP/2. */
final class CommuteCarrier implements Carrier {
    CommuteCarrier(Setup setup) throws IOException {
        Settings.Builder settings = new Settings.Builder();
        if (setup.protocol.equals("auto")) {
            settings.hintHttp3(setup.url);
            setup.origins.values().forEach(settings::hintHttp3);
        }
        if (setup.clientCertFile != null) {
            settings.identity(
                    Files.readAllBytes(setup.clientCertFile.toPath()), Files.readAllBytes(setup.clientKeyFile.toPath()));
        }
        Commute.configure(settings.build());
    }

    @Override
    public OkHttpClient.Builder install(OkHttpClient.Builder client) {
        return Commute.install(client.addNetworkInterceptor(CommuteCarrier::describe));
    }

    @Override
    public void disconnect() {
        Commute.disconnect();
    }

    private static Response describe(Interceptor.Chain chain) throws IOException {
        Trace trace = chain.request().tag(Trace.class);
        RequestBody body = chain.request().body();
        trace.requestBytes(body == null ? 0 : body.contentLength());
        trace.countAttempt();
        Response response;
        try {
            response = chain.proceed(chain.request());
        } catch (IOException failure) {
            RouteReport report = Commute.report(chain.call());
            if (report != null) {
                describe(trace, report);
            }
            throw failure;
        }
        RouteReport report = response.request().tag(RouteReport.class);
        if (report == null || !report.byEngine()) {
            response.close();
            throw new IOException("not by the engine: " + report);
        }
        describe(trace, report);
        return response;
    }

    private static void describe(Trace trace, RouteReport report) {
        for (int i = 1; i < report.attempts(); i++) {
            trace.countAttempt();
        }
        long askedNs = report.askedAtNs();
        ConnectionInfo connection = new ConnectionInfo((int) report.connection());
        connection.protocol = "h" + report.httpVersion();
        connection.localPort = report.localPort();
        connection.resumed = report.resumed();
        trace.useConnection(connection, !report.reused());
        stamp(trace, Phase.DNS, askedNs, report.dnsNs());
        stamp(trace, Phase.CONNECT, askedNs, report.connectNs());
        stamp(trace, Phase.TLS, askedNs, report.tlsNs());
        stamp(trace, Phase.REQUEST_SENT, askedNs, report.requestSentNs());
        stamp(trace, Phase.FIRST_BYTE, askedNs, report.firstByteNs());
    }

    private static void stamp(Trace trace, Phase phase, long askedNs, long afterNs) {
        if (afterNs >= 0) {
            trace.stamp(phase, askedNs + afterNs);
        }
    }
}
