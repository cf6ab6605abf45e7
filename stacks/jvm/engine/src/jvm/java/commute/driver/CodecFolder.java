package commute.driver;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * The codec runner's classes in a driver. Its libraries are others than some that client
 * libraries bring (Okio, Protobuf), so they stay among themselves; all they share is the engine.
 */
public final class CodecFolder extends URLClassLoader {
    private static final ClassLoader ENGINE = CodecFolder.class.getClassLoader();

    private CodecFolder(URL jar) {
        // The parent of the application's loader has the JDK and nothing else.
        super(new URL[] {jar}, ClassLoader.getSystemClassLoader().getParent());
    }

    /** As built beside the driver. */
    public static Messages messages() throws ReflectiveOperationException {
        try {
            // build/okhttp/lib/engine-1.jar
            File engine = new File(CodecFolder.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            File build = engine.getParentFile().getParentFile().getParentFile();
            URL jar = new File(build, "codec/runner.jar").toURI().toURL();
            ClassLoader codecs = new CodecFolder(jar);
            return (Messages) codecs.loadClass("commute.codec.DriverMessages").getConstructor().newInstance();
        } catch (URISyntaxException | MalformedURLException noFile) {
            throw new IllegalStateException(noFile);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        return name.startsWith("commute.driver.") ? ENGINE.loadClass(name) : super.findClass(name);
    }
}
