package commute.client;

import java.io.File;
import java.util.ArrayList;
import java.util.List;

/** What engines are made of. */
public final class Settings {
    final String[] hints;
    final File memory;
    final byte[] chainPem;
    final byte[] keyPem;
    final HttpsRecords httpsRecords;

    private Settings(Builder builder) {
        hints = builder.hints.toArray(new String[0]);
        memory = builder.memory;
        chainPem = builder.chainPem;
        keyPem = builder.keyPem;
        httpsRecords = builder.httpsRecords;
    }

    /** Collects settings. */
    public static final class Builder {
        private final List<String> hints = new ArrayList<>();
        private File memory;
        private byte[] chainPem;
        private byte[] keyPem;
        private HttpsRecords httpsRecords;

        /** Declares that the origin of this URL supports HTTP/3 on its port. A wrong hint costs 10 ms once. */
        public Builder hintHttp3(String url) {
            hints.add(url);
            return this;
        }

        /**
         * Keeps what is learnt in this folder. If several engines use it, only one keeps it: the one that starts
         * first, and when that has ended, the one that starts next.
         */
        public Builder memory(File folder) {
            memory = folder;
            return this;
        }

        /**
         * Shows this certificate to servers that ask for one. The engine cannot see the key managers
         * of a client's {@code SSLSocketFactory}.
         *
         * @param chainPem the client's certificate first
         */
        public Builder identity(byte[] chainPem, byte[] keyPem) {
            this.chainPem = chainPem.clone();
            this.keyPem = keyPem.clone();
            return this;
        }

        /**
         * Asks this resolver for HTTPS records, by which servers offer HTTP/3 before their first response. On Android,
         * {@code commute.android.DnsRecords} asks the system.
         */
        public Builder httpsRecords(HttpsRecords resolver) {
            httpsRecords = resolver;
            return this;
        }

        public Settings build() {
            return new Settings(this);
        }
    }
}
