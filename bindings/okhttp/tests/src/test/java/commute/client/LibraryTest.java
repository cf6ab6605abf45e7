package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes without the native library, with another one, and with one that comes late. */
final class LibraryTest {
    private static final File LIBRARY =
            new File(System.getProperty("commute.target"), System.mapLibraryName("commute_client_jvm"));

    @TempDir
    Path folder;

    @Test
    void withoutALibraryCallsGoPlainlyAndOneThatComesLateIsUsed() throws Exception {
        List<String> said = run(LateLibrary.class, folder, LIBRARY.getPath());
        List<String> expected = Arrays.asList(
                "plain.no_library", "wrong digest refused", "plain.no_library", "loaded", "by engine",
                "no call failed");
        assertEquals(expected, said);
    }

    @Test
    void aLibraryThatTheJarHasIsUsedUnlessTheAppBringsOne() throws Exception {
        String processor = System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch");
        Path packed = folder.resolve("jar/META-INF/natives/linux-" + processor + "/" + LIBRARY.getName());
        Files.createDirectories(packed.getParent());
        Files.copy(LIBRARY.toPath(), packed);
        Path jar = folder.resolve("jar");
        List<String> said = runWith(jar, OneCall.class, folder.resolve("none"));
        assertTrue(said.size() == 1 && !said.get(0).startsWith("plain"), said.toString());

        Files.write(packed, "no library\n".getBytes(StandardCharsets.UTF_8));
        said = runWith(jar, OneCall.class, folder.resolve("none"));
        assertTrue(said.get(0).startsWith("plain.no_library: "), said.toString());
        assertTrue(said.get(0).contains("/META-INF/natives/linux-" + processor), said.toString());
        said = runWith(jar, OneCall.class, LIBRARY.getParentFile().toPath());
        assertTrue(said.size() == 1 && !said.get(0).startsWith("plain"), said.toString());
    }

    @Test
    void aLibraryOfAnotherVersionIsNotUsed() throws Exception {
        Path source = folder.resolve("other.c");
        Files.write(source, ("#include <jni.h>\n"
                + "JNIEXPORT jstring JNICALL Java_commute_client_Native_version(JNIEnv *env, jclass c) {\n"
                + "    return (*env)->NewStringUTF(env, \"9.9.9\");\n}\n").getBytes(StandardCharsets.UTF_8));
        File include = new File(System.getProperty("java.home"), "include");
        Path library = folder.resolve(System.mapLibraryName("commute_client_jvm"));
        Process cc = new ProcessBuilder("cc", "-shared", "-fPIC", "-I" + include, "-I" + new File(include, "linux"),
                        "-o", library.toString(), source.toString())
                .inheritIO()
                .start();
        assertEquals(0, cc.waitFor(), "cc failed");
        String why = "the library has version 9.9.9, and this code " + Commute.VERSION;
        assertEquals(
                Arrays.asList("plain.no_library: the native library is missing: " + why), run(OneCall.class, folder));
        List<String> said = run(LoadOnly.class, folder.resolve("none"), library.toString(), LateLibrary.sha256(library));
        assertEquals(Arrays.asList(library + ": " + why), said);
    }

    @Test
    void aLibraryForAnotherProcessorIsNotUsed() throws Exception {
        byte[] library = Files.readAllBytes(LIBRARY.toPath());
        // Where an ELF file says which machine it is for: AArch64.
        library[18] = (byte) 183;
        Path other = folder.resolve(LIBRARY.getName());
        Files.write(other, library);
        List<String> said = run(OneCall.class, folder);
        assertTrue(said.get(0).startsWith("plain.no_library: "), said.toString());
        assertTrue(said.get(0).contains(other.toString()), said.toString());
        said = run(LoadOnly.class, folder, other.toString(), LateLibrary.sha256(other));
        assertTrue(said.get(0).contains("is not a library for this device"), said.toString());
    }

    /** To parse them takes ten times as long as an engine's start. */
    @Test
    void thePlatformsAuthoritiesAreNotLoadedForAClientThatHasItsOwn() throws Exception {
        List<String> said = run(OwnAuthorities.class, LIBRARY.getParentFile().toPath());
        assertTrue(said.size() == 1 && !said.get(0).startsWith("plain"), said.toString());
    }

    @Test
    void aFileThatIsNoLibraryIsRefused() throws Exception {
        Path file = folder.resolve("text.so");
        Files.write(file, "no library\n".getBytes(StandardCharsets.UTF_8));
        // printf 'no library\n' | sha256sum
        String digest = LateLibrary.sha256(file);
        List<String> said = run(LoadOnly.class, folder, file.toString(), digest);
        assertTrue(said.get(0).contains("is not a library for this device"), said.toString());
    }

    /** Runs a program in a JVM that finds libraries only in {@code libraries}; returns what it says. */
    private static List<String> run(Class<?> program, Path libraries, String... arguments) throws Exception {
        return runWith(null, program, libraries, arguments);
    }

    /** Does the same with a folder before all others in the class path, unless it is null. */
    private static List<String> runWith(Path first, Class<?> program, Path libraries, String... arguments)
            throws Exception {
        String classes = System.getProperty("java.class.path");
        List<String> command = new ArrayList<>(Arrays.asList(
                new File(System.getProperty("java.home"), "bin/java").getPath(),
                "-Djava.library.path=" + libraries,
                "-Dcommute.target=" + System.getProperty("commute.target"),
                "-Dcommute.callFactory=" + Boolean.getBoolean("commute.callFactory"),
                "-cp", first == null ? classes : first + File.pathSeparator + classes, program.getName()));
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            List<String> lines = out.lines().collect(Collectors.toList());
            assertEquals(0, process.waitFor());
            return lines;
        }
    }

    /** Makes one call. */
    static final class OneCall {
        public static void main(String[] arguments) throws Exception {
            try (LabServer server = new LabServer()) {
                RouteReport report = LateLibrary.call(TestClients.withCommute(TestClients.trusting(server.trust())), server);
                System.out.println(report.code() + ": " + report.why());
            }
            System.exit(0);
        }
    }

    /** Makes one call where the platform's authorities cannot be loaded. */
    static final class OwnAuthorities {
        public static void main(String[] arguments) throws Exception {
            System.setProperty("javax.net.ssl.trustStoreType", "none such");
            OneCall.main(arguments);
        }
    }

    /** Loads a library. */
    static final class LoadOnly {
        public static void main(String[] arguments) {
            try {
                Commute.load(new File(arguments[0]), arguments[1]);
                System.out.println("loaded");
            } catch (IOException refused) {
                System.out.println(refused.getMessage());
            }
        }
    }
}
