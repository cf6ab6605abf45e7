use std::fs::OpenOptions;
use std::io::Write as _;

/// Path of the list of allowed skips. When set, a skip that is not in it fails its test.
const ALLOWED: &str = "COMMUTE_ALLOWED_SKIPS";
/// Path of a file that every skip is appended to, one per line, so that a gate can count them.
const LOG: &str = "COMMUTE_SKIP_LOG";

/// Records that the current test cannot run here, and why. The caller returns afterwards.
///
/// Prints `SKIPPED: test: reason` past the capture of the test harness. `.ci/run` sets
/// `COMMUTE_ALLOWED_SKIPS`. The skip is then a failure unless that file has a line `test: reason`
/// for this test. The reason there is for people.
///
/// # Panics
///
/// When the skip is not allowed.
#[track_caller]
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed test");
    let line = format!("{test}: {reason}\n");
    // `eprint!` would be captured; a test that did not run must not look like one that did.
    // Nothing is left to do if standard error is gone.
    drop(std::io::stderr().write_all(format!("SKIPPED: {line}").as_bytes()));
    if let Some(log) = std::env::var_os(LOG) {
        let appended = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(e) = appended {
            panic!("cannot append to {}: {e}", log.display());
        }
    }
    if let Some(list) = std::env::var_os(ALLOWED) {
        let allowed = match std::fs::read_to_string(&list) {
            Ok(text) => is_allowed(test, &text),
            Err(e) => panic!("cannot read {}: {e}", list.display()),
        };
        assert!(
            allowed,
            "skipped, and {} does not list it: {reason}",
            list.display()
        );
    }
}

/// Reports whether the list has a line for this test. Blank lines and lines that begin with `#` are
/// comments.
fn is_allowed(test: &str, list: &str) -> bool {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .any(|(name, _)| name.trim() == test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_tests_may_skip() {
        let list = "# why\n\nmodule::flaky: needs a quiet machine\n# off: no\n";
        assert!(is_allowed("module::flaky", list));
        assert!(!is_allowed("flaky", list));
        assert!(!is_allowed("# off", list));
        assert!(!is_allowed("off", list));
        assert!(!is_allowed("another", list));
    }
}
