package commute.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
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
}
