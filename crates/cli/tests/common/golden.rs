//! Texts kept beside the tests.

use std::fs;
use std::path::Path;

/// Asserts that a text is the one in `tests/golden`, or writes it there when
/// `COMMUTE_GOLDEN=write` asks for it.
#[track_caller]
pub fn hold(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("COMMUTE_GOLDEN").is_some_and(|how| how == "write") {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, got).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    if kept == got {
        return;
    }
    let line = kept.lines().zip(got.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or(kept.lines().count().min(got.lines().count()));
    panic!(
        "{name}, line {}:\n  kept: {:?}\n  got:  {:?}\nif it should be so: \
         COMMUTE_GOLDEN=write cargo test -p commute\n--- got\n{got}",
        line + 1,
        kept.lines().nth(line),
        got.lines().nth(line),
    );
}
