package commute.okhttp;

import commute.client.Commute;
import commute.driver.CodecClassLoader;
import commute.driver.Driver;

/** Drives OkHttp over commute's engine, whose library is on {@code java.library.path}. */
final class CommuteMain {
    private CommuteMain() {}

    public static void main(String[] arguments) throws Exception {
        Driver.useTmpdir();
        String missing = Commute.missingLibrary();
        if (missing != null) {
            System.err.println("client library not built (" + missing + "); run in a checkout of commute: "
                    + "cargo build -p commute-client-jvm (with --release for a release build of commute)");
            System.exit(1);
        }
        Driver.run(new CommuteStack(), CodecClassLoader.loadMessages());
    }
}
