package commute.h3;

import commute.driver.CodecFolder;
import commute.driver.Driver;
import io.netty.handler.codec.quic.Quic;

/** Netty's HTTP/3. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.keepToTemporaryFolder();
        Quic.ensureAvailability();
        Driver.main(new H3Stack(), CodecFolder.messages());
    }
}
