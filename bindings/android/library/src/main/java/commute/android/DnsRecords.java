// Never run on a device: see bindings/android/README.md.
package commute.android;

import android.net.DnsResolver;
import android.os.Build;
import commute.client.HttpsRecords;
import java.util.function.Consumer;

/**
 * Asks Android's resolver for HTTPS records, from Android 10 on: {@code Settings.Builder.httpsRecords(new DnsRecords())}.
 * The query takes the default network and its private DNS. Before Android 10 there is never an answer.
 */
public final class DnsRecords implements HttpsRecords {
    /** Android 10, which has {@code DnsResolver}. */
    private static final int ANDROID_10 = 29;

    private final int android;

    public DnsRecords() {
        this(Build.VERSION.SDK_INT);
    }

    DnsRecords(int android) {
        this.android = android;
    }

    @Override
    public void ask(String name, Consumer<byte[]> answer) {
        if (android >= ANDROID_10) {
            Query.ask(name, answer);
        } else {
            answer.accept(null);
        }
    }

    /** What older versions of Android cannot load. */
    private static final class Query implements DnsResolver.Callback<byte[]> {
        private final Consumer<byte[]> answer;

        private Query(Consumer<byte[]> answer) {
            this.answer = answer;
        }

        static void ask(String name, Consumer<byte[]> answer) {
            DnsResolver.getInstance()
                    .rawQuery(
                            null,
                            name,
                            DnsResolver.CLASS_IN,
                            TYPE,
                            DnsResolver.FLAG_EMPTY,
                            // The answer only goes to a queue of the engine.
                            Runnable::run,
                            null,
                            new Query(answer));
        }

        @Override
        public void onAnswer(byte[] message, int code) {
            answer.accept(message);
        }

        @Override
        public void onError(DnsResolver.DnsException failed) {
            answer.accept(null);
        }
    }
}
