package commute.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The Java in the project's Markdown compiles as it stands. A block is the body of a method that may throw anything, in
 * a class with the imports that {@link #BEFORE} lists. {@code <!-- not compiled: REASON -->} above a block leaves it out.
 */
final class DocsTest {
    private static final Path ROOT = Paths.get("..", "..", "..");
    /** Names of folders that builds and runs make. */
    private static final Set<String> MADE = new HashSet<>(Arrays.asList("build", "node_modules", "runs", "target"));
    private static final Pattern BLOCK = Pattern.compile(
            "^(<!-- not compiled: .+ -->\\n)?( *)```java\\n(.*?)^\\2```$", Pattern.MULTILINE | Pattern.DOTALL);
    /** In one line, so that lines of errors are those of the block. */
    private static final String BEFORE =
            "import commute.client.*; import okhttp3.*; class Block { static void run() throws Exception {\n";
    private static final String AFTER = "}}\n";

    @TempDir
    Path folder;

    @Test
    void blocksOfPagesCompile() throws Exception {
        List<String> problems = new ArrayList<>();
        int compiled = 0;
        for (Path page : pages()) {
            String text = new String(Files.readAllBytes(page), StandardCharsets.UTF_8);
            Matcher block = BLOCK.matcher(text);
            while (block.find()) {
                if (block.group(1) == null) {
                    compiled++;
                    int lines = text.substring(0, block.start(3)).split("\n", -1).length;
                    problems.addAll(compile(ROOT.relativize(page) + ":", lines - 2, block.group(3)));
                }
            }
        }
        assertEquals(Collections.emptyList(), problems);
        assertTrue(compiled >= 2, "only " + compiled + " blocks found");
    }

    @Test
    void aBlockThatDoesNotCompileIsFoundWithItsLine() {
        List<String> problems = compile("page:", 10, "int a = 1;\nOkHttpClient b = a;\n");
        assertEquals(1, problems.size(), problems.toString());
        assertTrue(problems.get(0).startsWith("page:13: "), problems.toString());
    }

    /** Returns the errors in a block, whose lines are counted from {@code before}. */
    private List<String> compile(String page, int before, String code) {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        JavaFileObject source =
                new SimpleJavaFileObject(URI.create("string:///Block.java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return BEFORE + code + AFTER;
                    }
                };
        List<String> options = Arrays.asList(
                "-proc:none", "-cp", System.getProperty("java.class.path"), "-d", folder.toString());
        boolean compiles = compiler.getTask(null, null, found, options, null, Collections.singleton(source)).call();
        List<String> problems = new ArrayList<>();
        for (Diagnostic<?> problem : found.getDiagnostics()) {
            if (problem.getKind() == Diagnostic.Kind.ERROR) {
                problems.add(page + (before + problem.getLineNumber()) + ": " + problem.getMessage(null));
            }
        }
        assertEquals(compiles, problems.isEmpty());
        return problems;
    }

    /** Returns the project's Markdown files. */
    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>();
        Files.walkFileTree(ROOT, new SimpleFileVisitor<Path>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                String name = folder.getFileName().toString();
                boolean isHidden = name.startsWith(".") && !folder.equals(ROOT);
                return isHidden || MADE.contains(name) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(".md")) {
                    pages.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return pages;
    }
}
