use std::fs;
use std::path::Path;

/// Set to `write` to rewrite golden files instead of comparing with them.
const WRITE: &str = "COMMUTE_GOLDEN";

/// Asserts that `actual` equals the golden file at `file`, byte for byte.
///
/// With `COMMUTE_GOLDEN=write` the file is rewritten instead: review the change before committing.
///
/// # Panics
///
/// When they differ, naming the first line that does.
#[track_caller]
pub fn golden(file: impl AsRef<Path>, actual: &str) {
    let file = file.as_ref();
    if std::env::var_os(WRITE).is_some_and(|how| how == "write") {
        write(file, actual);
    }
    let expected = fs::read_to_string(file).unwrap_or_default();
    if let Some(line) = first_difference(&expected, actual) {
        panic!(
            "{}, line {}:\n  expected: {:?}\n  actual:   {:?}\nto accept the change, run the \
             test with {WRITE}=write\n--- actual\n{actual}",
            file.display(),
            line + 1,
            expected.lines().nth(line),
            actual.lines().nth(line),
        );
    }
}

fn write(file: &Path, text: &str) {
    let written = file
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(file, text));
    if let Err(e) = written {
        panic!("cannot write {}: {e}", file.display());
    }
}

/// Returns the index of the first line that differs; one past the shorter text's last line when
/// only the length does.
fn first_difference(expected: &str, actual: &str) -> Option<usize> {
    if expected == actual {
        return None;
    }
    let differs = expected
        .lines()
        .zip(actual.lines())
        .position(|(a, b)| a != b);
    Some(differs.unwrap_or(expected.lines().count().min(actual.lines().count())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(1));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(1));
        assert_eq!(first_difference("a\n", "a"), Some(1));
    }
}
