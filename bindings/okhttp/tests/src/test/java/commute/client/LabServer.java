package commute.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import okhttp3.tls.HandshakeCertificates;

/** {@code commute serve}: HTTP/1.1, HTTP/2 and HTTP/3 on one port. */
final class LabServer implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("\"listening\":\\[\"127\\.0\\.0\\.1:(\\d+)\"");

    private final Process process;
    private final Path folder;
    final int port;

    LabServer(String... options) throws IOException {
        folder = Files.createTempDirectory("commute-serve");
        List<String> command = new ArrayList<>(Arrays.asList(
                new File(System.getProperty("commute.target"), "commute").getPath(),
                "serve", "--listen", "127.0.0.1:0", "--json", "--credentials", folder.toString()));
        command.addAll(Arrays.asList(options));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = out.readLine();
        Matcher listening = LISTENING.matcher(String.valueOf(line));
        if (!listening.find()) {
            close();
            throw new IOException("commute serve said " + line);
        }
        port = Integer.parseInt(listening.group(1));
    }

    String url(String path) {
        return "https://localhost:" + port + path;
    }

    /** Returns what clients need to trust this server. */
    HandshakeCertificates trust() throws Exception {
        try (java.io.InputStream pem = Files.newInputStream(folder.resolve("ca.pem"))) {
            X509Certificate root =
                    (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(pem);
            return new HandshakeCertificates.Builder().addTrustedCertificate(root).build();
        }
    }

    @Override
    public void close() throws IOException {
        // Asked politely it would wait for connections that engines keep.
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        try (java.util.stream.Stream<Path> files = Files.walk(folder)) {
            files.sorted(java.util.Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }
}
