package commute.grpc;

import commute.driver.CodecFolder;
import commute.driver.Driver;
import java.security.Security;
import org.conscrypt.Conscrypt;

/** {@code okhttp} or {@code netty}: the transport. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Driver.keepToTemporaryFolder();
        switch (arguments.length == 1 ? arguments[0] : "") {
            case "okhttp":
                // First, as on Android; grpc-okhttp looks for it among the providers.
                Security.insertProviderAt(Conscrypt.newProvider(), 1);
                Driver.main(new GrpcStack(OkHttpTransport.identity(), OkHttpTransport::new), CodecFolder.messages());
                break;
            case "netty":
                Driver.main(new GrpcStack(NettyTransport.identity(), NettyTransport::new), CodecFolder.messages());
                break;
            default:
                throw new IllegalArgumentException("one argument: okhttp or netty");
        }
    }
}
