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
            throw new IllegalStateException(missing + "; build it: cargo build -p commute-client-jvm");
        }
        Driver.run(new CommuteStack(), CodecClassLoader.loadMessages());
    }
}
