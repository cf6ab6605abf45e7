package commute.huc;

import commute.driver.Credentials;
import commute.driver.StackInfo;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.RecordingTrustManager;
import commute.driver.UnsupportedRequestException;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;

/** HttpURLConnection, in any implementation. */
final class HucStack implements Stack {
    private final StackInfo info;
    private final UrlOpener.Factory openers;

    HucStack(StackInfo info, UrlOpener.Factory openers) {
        this.info = info;
        this.openers = openers;
    }

    @Override
    public StackInfo info() {
        return info;
    }

    @Override
    public Session open(Setup setup) throws IOException, GeneralSecurityException {
        return new HucSession(setup, openers);
    }

    /** One origin. Each reconnect gets its own sockets; the SSLContext owns the tickets. */
    private static final class HucSession implements Session {
        private final Setup setup;
        private final UrlOpener.Factory openers;
        private final Credentials credentials;
        private final RecordingTrustManager trustManager;
        private final AtomicInteger opened = new AtomicInteger();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private SSLContext sslContext;
        private TappedSocketFactory socketFactory;
        private UrlOpener opener;

        HucSession(Setup setup, UrlOpener.Factory openers) throws IOException, GeneralSecurityException {
            this.setup = setup;
            this.openers = openers;
            credentials = new Credentials(setup);
            trustManager = new RecordingTrustManager(credentials.trustManager());
            open(Reconnect.COLD);
        }

        private void open(Reconnect mode) throws GeneralSecurityException {
            if (mode == Reconnect.COLD) {
                sslContext = credentials.newContext(trustManager);
            }
            socketFactory = new TappedSocketFactory(sslContext.getSocketFactory(), trustManager, opened);
            opener = openers.create(socketFactory);
        }

        @Override
        public void reconnect(Reconnect mode) throws GeneralSecurityException {
            opener.close();
            socketFactory.retire();
            open(mode);
        }

        @Override
        public Call prepare(Step step) throws IOException, UnsupportedRequestException {
            return new HucCall(setup.url, step, threads, () -> opener);
        }

        @Override
        public void close() {
            opener.close();
            socketFactory.retire();
            threads.shutdown();
        }
    }
}
