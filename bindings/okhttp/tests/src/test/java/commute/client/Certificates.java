package commute.client;

import java.security.cert.X509Certificate;
import java.util.concurrent.TimeUnit;
import okhttp3.tls.HeldCertificate;

/** Certificates that are right, and wrong in each way. */
final class Certificates {
    static final HeldCertificate ROOT = authority("root");
    static final HeldCertificate INTERMEDIATE =
            new HeldCertificate.Builder().certificateAuthority(0).signedBy(ROOT).commonName("intermediate").build();
    static final HeldCertificate LOCALHOST = localhost(ROOT).build();
    static final HeldCertificate CLIENT =
            new HeldCertificate.Builder().signedBy(ROOT).commonName("client").build();
    static final HeldCertificate RSA = localhost(ROOT).rsa2048().build();
    static final HeldCertificate BELOW_INTERMEDIATE = localhost(INTERMEDIATE).build();
    static final HeldCertificate OF_A_STRANGER = localhost(authority("stranger")).build();
    static final HeldCertificate SELF_SIGNED =
            new HeldCertificate.Builder().commonName("localhost").addSubjectAlternativeName("localhost").build();
    static final HeldCertificate EXPIRED = localhost(ROOT)
            .validityInterval(0, System.currentTimeMillis() - TimeUnit.DAYS.toMillis(1))
            .build();
    static final HeldCertificate NOT_YET_VALID = localhost(ROOT)
            .validityInterval(
                    System.currentTimeMillis() + TimeUnit.DAYS.toMillis(1),
                    System.currentTimeMillis() + TimeUnit.DAYS.toMillis(2))
            .build();
    static final HeldCertificate OF_ANOTHER_NAME = new HeldCertificate.Builder()
            .signedBy(ROOT)
            .commonName("another")
            .addSubjectAlternativeName("another.example")
            .build();

    private Certificates() {}

    static X509Certificate intermediate() {
        return INTERMEDIATE.certificate();
    }

    private static HeldCertificate authority(String name) {
        return new HeldCertificate.Builder().certificateAuthority(1).commonName(name).build();
    }

    private static HeldCertificate.Builder localhost(HeldCertificate signer) {
        return new HeldCertificate.Builder()
                .signedBy(signer)
                .commonName("localhost")
                .addSubjectAlternativeName("localhost");
    }
}
