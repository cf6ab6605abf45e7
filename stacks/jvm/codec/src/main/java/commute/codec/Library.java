package commute.codec;

import java.net.URL;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A library on the class path. */
final class Library {
    private final String resource;
    private final String artifact;

    /** {@code resource} is one of the library's class files. */
    Library(String resource, String artifact) {
        this.resource = resource;
        this.artifact = artifact;
    }

    /**
     * Returns the version in the name of the library's jar. Not every library knows its own version,
     * and asking one that does would load its classes before the cold run.
     */
    String version() {
        URL found = Library.class.getClassLoader().getResource(resource);
        Matcher version = Pattern.compile("/" + artifact + "-([0-9.-]+)\\.jar!").matcher(String.valueOf(found));
        if (!version.find()) {
            throw new IllegalStateException("no jar of " + artifact + " on the class path");
        }
        return version.group(1);
    }
}
