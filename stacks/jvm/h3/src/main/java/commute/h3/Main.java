package commute.h3;

import commute.driver.CodecClassLoader;
import commute.driver.Driver;
import io.netty.handler.codec.quic.Quic;

/** Drives Netty's HTTP/3. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.useTmpdir();
        Quic.ensureAvailability();
        Driver.run(new H3Stack(), CodecClassLoader.loadMessages());
    }
}
