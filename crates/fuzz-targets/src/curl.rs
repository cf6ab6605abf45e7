use std::str;

use init::{Arms, Options, Scope};

/// Writes a study from a curl command. `commute run` must be able to read it.
pub fn curl(data: &[u8]) {
    let Ok(command) = str::from_utf8(data) else {
        return;
    };
    let options = Options {
        name: "app",
        folder: Some("app"),
        keep_values: data.len().is_multiple_of(2),
        origin: None,
        arms: Arms::BuiltIn,
        scope: Scope::FULL,
    };
    let body = |_: &str| Ok(br#"{"a": [1, "b"]}"#.to_vec());
    if let Ok(written) = init::from_curl(command, &options, &body) {
        crate::written::expect_study(&written);
    }
}
