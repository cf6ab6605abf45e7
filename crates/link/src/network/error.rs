/// Why there is no such network, or none in this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The text is not a network.
    #[error("{file}:{line}: {what}; {way_out}")]
    Refused {
        /// The file, as the caller named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// What would be right.
        way_out: String,
    },
    /// No built-in network has this name.
    #[error("no network is called {name:?}; {way_out}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The nearest names.
        way_out: String,
    },
}

/// The beginning of a text from outside: enough to know it by, and no screenful.
pub(super) fn clip(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Of `names` the one that `wrong` was probably meant to be.
pub(super) fn nearest<'a>(
    wrong: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    /// Below this similarity a hint misleads more than it helps.
    const LIKE: f64 = 0.7;
    let wrong = clip(wrong);
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wrong, name), name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near() {
        let names = ["rate_kbps", "delay_ms", "queue_ms"];
        assert_eq!(nearest("rate_mbps", names), Some("rate_kbps"));
        assert_eq!(nearest("dealy_ms", names), Some("delay_ms"));
        assert_eq!(nearest("xyz", names), None);
    }
}
