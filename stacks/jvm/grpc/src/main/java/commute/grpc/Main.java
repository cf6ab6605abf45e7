package commute.grpc;

import commute.driver.CodecClassLoader;
import commute.driver.Driver;
import java.security.Security;
import org.conscrypt.Conscrypt;

/** Drives grpc-java. The argument, {@code okhttp} or {@code netty}, selects the transport. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.useTmpdir();
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "okhttp":
                // First, as on Android: grpc-okhttp looks for it among the providers.
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Driver.run(new GrpcStack(OkHttpTransport.info(), OkHttpTransport::new), CodecClassLoader.loadMessages());
                break;
            case "netty":
                Driver.run(new GrpcStack(NettyTransport.info(), NettyTransport::new), CodecClassLoader.loadMessages());
                break;
            default:
                throw new IllegalArgumentException("expected one argument: okhttp or netty");
        }
    }
}
