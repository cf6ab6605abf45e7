//! Which of curl's options have a value, and what becomes of them.

/// Whether an option that can be taken over is followed by a value.
pub(super) fn takes_value(option: &str) -> bool {
    let lists = [IGNORED_WITH_VALUE, LEFT_OUT_WITH_VALUE, USED_WITH_VALUE];
    lists.iter().any(|list| list.contains(&option))
}

/// Options without a value that change nothing of what a study sends.
pub(super) const IGNORED_FLAGS: &[&str] = &[
    "-#",
    "-0",
    "-4",
    "-6",
    "-L",
    "-N",
    "-S",
    "-f",
    "-i",
    "-k",
    "-s",
    "-v",
    "--compressed",
    "--fail",
    "--fail-with-body",
    "--http1.0",
    "--http1.1",
    "--http2",
    "--http2-prior-knowledge",
    "--http3",
    "--http3-only",
    "--include",
    "--insecure",
    "--ipv4",
    "--ipv6",
    "--location",
    "--no-buffer",
    "--no-progress-meter",
    "--path-as-is",
    "--progress-bar",
    "--show-error",
    "--silent",
    "--verbose",
];
/// Options with a value that change nothing of what a study sends.
const IGNORED_WITH_VALUE: &[&str] = &[
    "-E",
    "-c",
    "-m",
    "-o",
    "-w",
    "-x",
    "--cacert",
    "--cert",
    "--connect-timeout",
    "--connect-to",
    "--cookie-jar",
    "--interface",
    "--key",
    "--limit-rate",
    "--max-time",
    "--output",
    "--proxy",
    "--resolve",
    "--retry",
    "--retry-delay",
    "--write-out",
    "-e",
    "--referer",
];
/// Credentials.
pub(super) const LEFT_OUT_WITH_VALUE: &[&str] =
    &["-b", "-u", "--cookie", "--oauth2-bearer", "--user"];
/// Options with a value that make the request.
const USED_WITH_VALUE: &[&str] = &[
    "-A",
    "-H",
    "-X",
    "-d",
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-raw",
    "--header",
    "--json",
    "--request",
    "--url",
    "--user-agent",
];
