package android.net;

import android.os.CancellationSignal;
import java.util.concurrent.Executor;

/**
 * Declares what Android 10 has and Android 8, against which {@code check} compiles, has not. It answers with what tests
 * set.
 */
public class DnsResolver {
    public static final int CLASS_IN = 1;
    public static final int FLAG_EMPTY = 0;

    /** The answer of the next query; null: it fails. */
    public static byte[] answer;

    /** The last query. */
    public static String asked;

    private static final DnsResolver INSTANCE = new DnsResolver();

    public static DnsResolver getInstance() {
        return INSTANCE;
    }

    public void rawQuery(
            Network network,
            String domain,
            int nsClass,
            int nsType,
            int flags,
            Executor executor,
            CancellationSignal cancellationSignal,
            Callback<? super byte[]> callback) {
        asked = network + " " + domain + " " + nsClass + " " + nsType + " " + flags;
        executor.execute(() -> {
            if (answer != null) {
                callback.onAnswer(answer, 0);
            } else {
                callback.onError(new DnsException());
            }
        });
    }

    /** Takes answers. */
    public interface Callback<T> {
        void onAnswer(T answer, int rcode);

        void onError(DnsException error);
    }

    /** A query that failed. */
    public static class DnsException extends Exception {
        private static final long serialVersionUID = 1;
    }
}
