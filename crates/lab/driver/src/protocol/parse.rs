//! Parses requests as every driver must: an unknown word is not a malformed request.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::application::Protocol;
use super::request::{Action, Reconnect, Request};

/// Most characters of an unknown word that are quoted.
const WORD_CHARS: usize = 64;

/// Why a line cannot be followed as a request.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RequestError {
    /// The request is well formed, but a word in it is unknown. The driver answers
    /// `unsupported` and goes on.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The kind of word and the word, e.g. `protocol h9`.
        what: String,
    },
    /// The line is not a request. The driver answers `failed`.
    #[error("not a request: {0}")]
    Malformed(String),
}

impl Request {
    /// Parses one line. Fields that this version does not know are ignored.
    pub fn parse(line: &str) -> Result<Self, RequestError> {
        let value: Value = serde_json::from_str(line).map_err(malformed)?;
        let kind = value.get("type").and_then(Value::as_str);
        match kind.ok_or_else(|| RequestError::Malformed("no \"type\"".into()))? {
            // The codec is not checked here: only the driver knows which it has.
            "setup" => check_word::<Protocol>("protocol", value.get("protocol"))?,
            "run" => {
                let steps = value.get("steps").and_then(Value::as_array);
                steps.into_iter().flatten().try_for_each(check_step)?;
            }
            "hello" | "network" | "close" => {}
            other => return Err(unsupported("request", other)),
        }
        serde_json::from_value(value).map_err(malformed)
    }
}

fn check_step(step: &Value) -> Result<(), RequestError> {
    if let Some(name) = step.get("step").and_then(Value::as_str)
        && !Action::NAMES.contains(&name)
    {
        return Err(unsupported("step", name));
    }
    if let Some(start) = step.get("start").and_then(Value::as_object)
        && let Some(name) = start
            .keys()
            .find(|key| !["after", "at_ns"].contains(&key.as_str()))
    {
        return Err(unsupported("start", name));
    }
    check_word::<Reconnect>("reconnect", step.get("mode"))
}

/// Checks that a string is a value of the enum `T`. Anything but a string is left to serde.
fn check_word<T: DeserializeOwned>(kind: &str, value: Option<&Value>) -> Result<(), RequestError> {
    match value {
        Some(Value::String(word)) if serde_json::from_value::<T>(word.as_str().into()).is_err() => {
            Err(unsupported(kind, word))
        }
        _ => Ok(()),
    }
}

fn unsupported(kind: &str, word: &str) -> RequestError {
    let word: String = word.chars().take(WORD_CHARS).collect();
    RequestError::Unsupported {
        what: format!("{kind} {word}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
fn malformed(error: serde_json::Error) -> RequestError {
    RequestError::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_unsupported(line: &str, what: &str) {
        assert_eq!(
            Request::parse(line),
            Err(RequestError::Unsupported { what: what.into() })
        );
    }

    #[test]
    fn unknown_words_are_named() {
        assert_unsupported(r#"{"type":"unknown"}"#, "request unknown");
        assert_unsupported(
            r#"{"type":"setup","url":"https://a:1","ca_file":"ca","protocol":"h9","codec":"json","timeout_ns":1}"#,
            "protocol h9",
        );
        assert_unsupported(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"teleport"}]}"#,
            "step teleport",
        );
        assert_unsupported(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"reconnect","mode":"warp"}]}"#,
            "reconnect warp",
        );
        assert_unsupported(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"pause","ns":1,"start":{"when":1}}]}"#,
            "start when",
        );
    }

    #[test]
    fn request_without_its_fields_is_malformed() {
        let lines = [
            "",
            "{}",
            "[]",
            "{\"type\":3}",
            r#"{"type":"run"}"#,
            r#"{"type":"setup"}"#,
        ];
        for line in lines {
            assert!(
                matches!(Request::parse(line), Err(RequestError::Malformed(_))),
                "{line}"
            );
        }
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let line = r#"{"type":"hello","version":2,"colour":"green"}"#;
        assert_eq!(Request::parse(line), Ok(Request::Hello { version: 2 }));
    }
}
