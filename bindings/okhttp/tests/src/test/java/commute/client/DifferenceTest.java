package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The list of differences is complete. */
final class DifferenceTest {
    @ParameterizedTest
    @EnumSource(value = Difference.class, mode = EnumSource.Mode.EXCLUDE, names = "OTHER_PORT")
    void theReadmeHasIt(Difference difference) throws Exception {
        Path readme = Paths.get("..", "README.md");
        String text = new String(Files.readAllBytes(readme), StandardCharsets.UTF_8);
        assertTrue(text.contains("\n| " + difference + " |"), difference + " is missing in " + readme);
    }

    @ParameterizedTest
    @EnumSource(Difference.class)
    void aCaseMeetsIt(Difference difference) throws Exception {
        Path sources = Paths.get("..", "tests", "src", "test", "java", "commute", "client");
        try (Stream<Path> files = Files.list(sources)) {
            assertTrue(files.anyMatch(file -> names(file, difference)), "no case names " + difference);
        }
    }

    private static boolean names(Path file, Difference difference) {
        try {
            String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
            return Pattern.compile("Difference\\." + difference + "\\b").matcher(text).find();
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }
}
