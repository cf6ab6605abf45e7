package commute.client;

import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import okhttp3.Call;
import okhttp3.Handshake;
import okhttp3.OkHttpClient;
import okhttp3.tls.HandshakeCertificates;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Servers that demand a certificate of the client. */
final class IdentityTest {
    @AfterEach
    void reset() {
        Commute.configure(new Settings.Builder().build());
    }

    @ParameterizedTest
    @EnumSource(World.Wire.class)
    void theServerSeesTheCertificate(World.Wire wire) throws Exception {
        Differential.same(wire, world -> {
            world.server.requireClientAuth();
            world.start().enqueue(Mock.ok("welcome"), Mock.ok("again"));
            Call.Factory client = world.client(identified(world));
            world.outcome(client, world.request("/").build());
            world.outcome(client, world.request("/").build());
            for (int i = 0; i < 2; i++) {
                Handshake seen = world.server.takeRequest().getHandshake();
                X509Certificate peer = (X509Certificate) seen.peerCertificates().get(0);
                world.say(peer.getSubjectX500Principal().getName());
            }
        });
    }

    /**
     * Returns the builder of a client with an identity. The engine gets it by its settings, plain OkHttp in its
     * socket factory.
     */
    private static OkHttpClient.Builder identified(World world) {
        byte[] chain = Certificates.CLIENT.certificatePem().getBytes(StandardCharsets.US_ASCII);
        byte[] key = Certificates.CLIENT.privateKeyPkcs8Pem().getBytes(StandardCharsets.US_ASCII);
        Commute.configure(new Settings.Builder().identity(chain, key).build());
        HandshakeCertificates identity = new HandshakeCertificates.Builder()
                .addTrustedCertificate(Certificates.ROOT.certificate())
                .heldCertificate(Certificates.CLIENT)
                .build();
        return world.builder().sslSocketFactory(identity.sslSocketFactory(), identity.trustManager());
    }
}
