use init::{Arms, Options, Scope};

/// Writes a study from a HAR. `commute run` must be able to read it.
pub fn har(data: &[u8]) {
    let options = Options {
        name: "app",
        folder: Some("app"),
        keep_values: data.len().is_multiple_of(2),
        origin: None,
        arms: Arms::Apps,
        scope: Scope::FULL,
    };
    if let Ok(written) = init::from_har(data, &options) {
        crate::written::expect_study(&written);
    }
}
