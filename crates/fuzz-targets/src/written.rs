use std::io::ErrorKind;

use init::Written;
use study::Study;

/// Panics if `commute run` could not read the study.
pub(crate) fn expect_study(written: &Written) {
    let read = |path: &str, _limit: u64| {
        let file = written.files.iter().find(|(known, _)| known == path);
        let text = file.map(|(_, text)| text.clone().into_bytes());
        text.ok_or(ErrorKind::NotFound.into())
    };
    if let Err(e) = Study::parse_with("study.toml", &written.study, &read) {
        panic!("{e}\n{}", written.study);
    }
}
