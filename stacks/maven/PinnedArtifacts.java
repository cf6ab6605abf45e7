package commute.maven;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import javax.inject.Inject;
import javax.inject.Named;
import javax.inject.Singleton;
import org.apache.maven.AbstractMavenLifecycleParticipant;
import org.apache.maven.MavenExecutionException;
import org.apache.maven.RepositoryUtils;
import org.apache.maven.execution.MavenSession;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.artifact.Artifact;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.repository.RemoteRepository;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResolutionException;
import org.eclipse.aether.resolution.ArtifactResult;

/**
 * Compares the artifacts of a list with their SHA-256 and copies them into a repository.
 *
 * <p>`verified` runs this within Maven, whose mirrors, proxies and local repository it uses. Maven then starts no plugin.
 */
@Named
@Singleton
public final class PinnedArtifacts extends AbstractMavenLifecycleParticipant {
    /** Lines of `sha256sum`, whose paths are those of a Maven repository. */
    private static final String LIST = "commute.list";
    private static final String REPOSITORY = "commute.repository";
    /** If it is there, artifacts are copied whatever their hash is. */
    private static final String RECORD = "commute.record";
    /** Ends the names of programs for this machine. */
    private static final String PROGRAM =
            (System.getProperty("os.arch").equals("amd64") ? "x86_64" : "aarch_64") + ".exe";

    private final RepositorySystem system;

    @Inject
    PinnedArtifacts(RepositorySystem system) {
        this.system = system;
    }

    @Override
    public void afterSessionStart(MavenSession session) throws MavenExecutionException {
        Properties properties = session.getUserProperties();
        Path list = Paths.get(properties.getProperty(LIST));
        Path repository = Paths.get(properties.getProperty(REPOSITORY));
        boolean record = properties.containsKey(RECORD);
        try {
            List<RemoteRepository> repositories =
                    RepositoryUtils.toRepos(session.getRequest().getRemoteRepositories());
            List<String> hashes = new ArrayList<>();
            List<Path> paths = new ArrayList<>();
            List<ArtifactRequest> requests = new ArrayList<>();
            for (String line : Files.readAllLines(list)) {
                String[] parts = line.split("  ", 2);
                if (!record && parts[1].endsWith(".exe") && !parts[1].endsWith(PROGRAM)) {
                    continue;
                }
                hashes.add(parts[0]);
                paths.add(Paths.get(parts[1]));
                requests.add(new ArtifactRequest(artifact(Paths.get(parts[1])), repositories, null));
            }
            List<ArtifactResult> results = system.resolveArtifacts(session.getRepositorySession(), requests);
            for (int i = 0; i < results.size(); i++) {
                Path file = results.get(i).getArtifact().getFile().toPath();
                // What was compared is written, so that a later change to the file has no effect.
                byte[] bytes = Files.readAllBytes(file);
                String found = sha256(bytes);
                if (!record && !found.equals(hashes.get(i))) {
                    throw new IOException(file + " has the SHA-256 " + found + ", but the list says " + hashes.get(i)
                            + ". If the list is right, delete the file, and Maven fetches it again");
                }
                Path target = repository.resolve(paths.get(i));
                Files.createDirectories(target.getParent());
                Files.write(target, bytes);
            }
        } catch (ArtifactResolutionException | IOException | GeneralSecurityException e) {
            throw new MavenExecutionException(e.getMessage(), e);
        }
    }

    /** Returns the coordinates of `GROUP/ARTIFACT/VERSION/ARTIFACT-VERSION[-CLASSIFIER].EXTENSION`. */
    private static Artifact artifact(Path path) {
        Path version = path.getParent();
        Path artifact = version.getParent();
        String group = artifact.getParent().toString().replace('/', '.');
        String stem = artifact.getFileName() + "-" + version.getFileName();
        String rest = path.getFileName().toString().substring(stem.length());
        int dot = rest.indexOf('.');
        String classifier = dot == 0 ? "" : rest.substring(1, dot);
        return new DefaultArtifact(
                group,
                artifact.getFileName().toString(),
                classifier,
                rest.substring(dot + 1),
                version.getFileName().toString());
    }

    private static String sha256(byte[] bytes) throws GeneralSecurityException {
        StringBuilder text = new StringBuilder();
        for (byte part : MessageDigest.getInstance("SHA-256").digest(bytes)) {
            text.append(String.format("%02x", part));
        }
        return text.toString();
    }
}
