package commute.client;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import okhttp3.Call;
import okhttp3.Connection;
import okhttp3.EventListener;
import okhttp3.Handshake;
import okhttp3.HttpUrl;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.Response;

/** Writes down the events of calls. */
class Recorder extends EventListener {
    private final List<String> events = Collections.synchronizedList(new ArrayList<>());

    /** Returns the events since the last call of this. */
    List<String> take() {
        synchronized (events) {
            List<String> taken = new ArrayList<>(events);
            events.clear();
            return taken;
        }
    }

    /** Records an event. */
    void add(String event) {
        events.add(event);
    }

    @Override
    public void callStart(Call call) {
        add("callStart");
    }

    @Override
    public void proxySelectStart(Call call, HttpUrl url) {
        add("proxySelectStart");
    }

    @Override
    public void proxySelectEnd(Call call, HttpUrl url, List<Proxy> proxies) {
        add("proxySelectEnd " + proxies);
    }

    @Override
    public void dnsStart(Call call, String domainName) {
        add("dnsStart " + domainName);
    }

    @Override
    public void dnsEnd(Call call, String domainName, List<InetAddress> addresses) {
        add("dnsEnd " + addresses);
    }

    @Override
    public void connectStart(Call call, InetSocketAddress address, Proxy proxy) {
        add("connectStart " + address.getAddress() + " " + proxy);
    }

    @Override
    public void secureConnectStart(Call call) {
        add("secureConnectStart");
    }

    @Override
    public void secureConnectEnd(Call call, Handshake handshake) {
        add("secureConnectEnd");
    }

    @Override
    public void connectEnd(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol) {
        add("connectEnd " + address.getAddress());
    }

    @Override
    public void connectFailed(Call call, InetSocketAddress address, Proxy proxy, Protocol protocol, IOException e) {
        add("connectFailed " + e.getClass().getName());
    }

    @Override
    public void connectionAcquired(Call call, Connection connection) {
        add("connectionAcquired");
    }

    @Override
    public void connectionReleased(Call call, Connection connection) {
        add("connectionReleased");
    }

    @Override
    public void requestHeadersStart(Call call) {
        add("requestHeadersStart");
    }

    @Override
    public void requestHeadersEnd(Call call, Request request) {
        add("requestHeadersEnd " + request.headers().names());
    }

    @Override
    public void requestBodyStart(Call call) {
        add("requestBodyStart");
    }

    @Override
    public void requestBodyEnd(Call call, long byteCount) {
        add("requestBodyEnd " + byteCount);
    }

    @Override
    public void requestFailed(Call call, IOException e) {
        add("requestFailed " + e.getClass().getName());
    }

    @Override
    public void responseHeadersStart(Call call) {
        add("responseHeadersStart");
    }

    @Override
    public void responseHeadersEnd(Call call, Response response) {
        add("responseHeadersEnd " + response.code());
    }

    @Override
    public void responseBodyStart(Call call) {
        add("responseBodyStart");
    }

    @Override
    public void responseBodyEnd(Call call, long byteCount) {
        add("responseBodyEnd " + byteCount);
    }

    @Override
    public void responseFailed(Call call, IOException e) {
        add("responseFailed " + e.getClass().getName());
    }

    @Override
    public void callEnd(Call call) {
        add("callEnd");
    }

    @Override
    public void callFailed(Call call, IOException e) {
        add("callFailed " + e.getClass().getName());
    }

    @Override
    public void canceled(Call call) {
        add("canceled");
    }

    @Override
    public void satisfactionFailure(Call call, Response response) {
        add("satisfactionFailure");
    }

    @Override
    public void cacheHit(Call call, Response response) {
        add("cacheHit");
    }

    @Override
    public void cacheMiss(Call call) {
        add("cacheMiss");
    }

    @Override
    public void cacheConditionalHit(Call call, Response cachedResponse) {
        add("cacheConditionalHit");
    }
}
