package commute.driver;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Loads the codec runner's classes into a driver. It isolates the runner's libraries, because
 * client libraries bring other versions of some (Okio, Protobuf). Only the engine is shared.
 */
public final class CodecClassLoader extends URLClassLoader {
    private static final ClassLoader ENGINE = CodecClassLoader.class.getClassLoader();

    private CodecClassLoader(URL jar) {
        // The parent of the application's class loader has only the JDK.
        super(new URL[] {jar}, ClassLoader.getSystemClassLoader().getParent());
    }

    /** Loads the messages and codecs of the runner that was built beside the driver. */
    public static Messages loadMessages() throws ReflectiveOperationException {
        try {
            // build/okhttp/lib/engine-1.jar
            File engine = new File(CodecClassLoader.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            File build = engine.getParentFile().getParentFile().getParentFile();
            URL jar = new File(build, "codec/runner.jar").toURI().toURL();
            ClassLoader codecs = new CodecClassLoader(jar);
            return (Messages) codecs.loadClass("commute.codec.DriverMessages").getConstructor().newInstance();
        } catch (URISyntaxException | MalformedURLException notAFile) {
            throw new IllegalStateException(notAFile);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        return name.startsWith("commute.driver.") ? ENGINE.loadClass(name) : super.findClass(name);
    }
}
