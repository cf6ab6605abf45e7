package commute.huc;

import commute.driver.Credentials;
import commute.driver.Identity;
import commute.driver.Setup;
import commute.driver.Stack;
import commute.driver.Step;
import commute.driver.Witness;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;

/** HttpURLConnection, by whomever. */
final class HucStack implements Stack {
    private final Identity identity;
    private final Urls.Maker maker;

    HucStack(Identity identity, Urls.Maker maker) {
        this.identity = identity;
        this.maker = maker;
    }

    @Override
    public Identity identity() {
        return identity;
    }

    @Override
    public Session open(Setup setup) throws IOException, GeneralSecurityException {
        return new HucSession(setup, maker);
    }

    /** One origin. Each reconnect has sockets of its own; the SSLContext has the tickets. */
    private static final class HucSession implements Session {
        private final Setup setup;
        private final Urls.Maker maker;
        private final Credentials credentials;
        private final Witness witness;
        private final AtomicInteger opened = new AtomicInteger();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private SSLContext tickets;
        private Sockets sockets;
        private Urls urls;

        HucSession(Setup setup, Urls.Maker maker) throws IOException, GeneralSecurityException {
            this.setup = setup;
            this.maker = maker;
            credentials = new Credentials(setup);
            witness = new Witness(credentials.trust());
            open(Reconnect.COLD);
        }

        private void open(Reconnect mode) throws GeneralSecurityException {
            if (mode == Reconnect.COLD) {
                tickets = credentials.newContext(witness);
            }
            sockets = new Sockets(tickets.getSocketFactory(), witness, opened);
            urls = maker.over(sockets);
        }

        @Override
        public void reconnect(Reconnect mode) throws GeneralSecurityException {
            urls.close();
            sockets.retire();
            open(mode);
        }

        @Override
        public Exchange prepare(Step step) throws IOException {
            return new HucExchange(setup.url, step, threads, () -> urls);
        }

        @Override
        public void close() {
            urls.close();
            sockets.retire();
            threads.shutdown();
        }
    }
}
