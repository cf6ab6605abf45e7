package commute.codec.generator;

/** Source text, indented according to its braces. */
final class Source {
    private final StringBuilder text = new StringBuilder();
    private int depth;

    /** Appends a line. */
    void line(String line) {
        if (line.startsWith("}")) {
            depth--;
        }
        text.append(line.isEmpty() ? "" : "    ".repeat(depth)).append(line).append('\n');
        if (line.endsWith("{")) {
            depth++;
        }
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
