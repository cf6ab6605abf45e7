package commute.client;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Locale;

/** Loads the native library once. */
final class NativeLibrary {
    private static final String NAME = "commute_client_jvm";
    /** Larger files are not the library. */
    private static final int MAX_BYTES = 64 << 20;

    private static boolean tried;
    private static volatile boolean loaded;
    private static volatile String missing = "the library has not been loaded";

    private NativeLibrary() {}

    /** Returns why there is no library, or null. The first call loads the one that the app brought. */
    static String missing() {
        if (loaded) {
            return null;
        }
        synchronized (NativeLibrary.class) {
            if (!loaded && !tried) {
                tried = true;
                try {
                    System.loadLibrary(NAME);
                    accept();
                } catch (UnsatisfiedLinkError error) {
                    missing = error.getMessage();
                    loadPacked();
                }
            }
            return loaded ? null : missing;
        }
    }

    /** Loads the library for this machine that the jar has, if it has one. */
    private static void loadPacked() {
        String processor = System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch");
        String name = "/META-INF/natives/linux-" + processor + "/lib" + NAME + ".so";
        if (!System.getProperty("os.name").equals("Linux")) {
            return;
        }
        try (InputStream packed = NativeLibrary.class.getResourceAsStream(name)) {
            if (packed == null) {
                return;
            }
            // Nobody else can write to it.
            Path copy = Files.createTempFile(NAME, ".so");
            try {
                Files.copy(packed, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
                accept();
            } finally {
                // It stays mapped.
                Files.delete(copy);
            }
        } catch (IOException | UnsatisfiedLinkError error) {
            missing = name + " cannot be loaded: " + error.getMessage();
        }
    }

    static synchronized void load(File file, String sha256) throws IOException {
        if (loaded) {
            return;
        }
        if (file.length() > MAX_BYTES) {
            throw new IOException(file + " has " + file.length() + " bytes, more than " + MAX_BYTES);
        }
        byte[] library = Files.readAllBytes(file.toPath());
        String found = sha256(library);
        if (!found.equals(sha256.toLowerCase(Locale.ROOT))) {
            throw new IOException(file + " has the SHA-256 " + found + ", not " + sha256);
        }
        // What is loaded is what was checked: nobody else can write to the copy.
        Path copy = Files.createTempFile(NAME, ".so");
        try {
            Files.write(copy, library);
            System.load(copy.toString());
            tried = true;
            accept();
        } catch (UnsatisfiedLinkError error) {
            throw new IOException(file + " is not a library for this device: " + error.getMessage(), error);
        } finally {
            // It stays mapped.
            Files.delete(copy);
        }
        if (!loaded) {
            throw new IOException(file + ": " + missing);
        }
    }

    /** Uses the library if it has the version of this code. */
    private static void accept() {
        String version = Native.version();
        if (version.equals(Commute.VERSION)) {
            loaded = true;
        } else {
            missing = "the library has version " + version + ", and this code " + Commute.VERSION;
        }
    }

    private static String sha256(byte[] bytes) {
        try {
            StringBuilder text = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(bytes)) {
                text.append(String.format(Locale.ROOT, "%02x", b));
            }
            return text.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError(impossible);
        }
    }
}
