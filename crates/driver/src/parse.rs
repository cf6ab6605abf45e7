//! Reading a request the way every driver must: an unknown word is not an error.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::protocol::{Action, Protocol, Reconnect, Request};

/// Why a line is not a request to follow.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Well formed, but a word in it is unknown: answer `unsupported` and go on.
    #[error("unsupported: {what}")]
    Unsupported {
        /// The word and what it stands for, as `protocol h9`.
        what: String,
    },
    /// Not a request at all: answer `failed`.
    #[error("not a request: {0}")]
    Malformed(String),
}

impl Request {
    /// Reads one line. Fields this version does not know are ignored.
    pub fn parse(line: &str) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_str(line).map_err(malformed)?;
        let verb = value.get("type").and_then(Value::as_str);
        match verb.ok_or_else(|| Refusal::Malformed("no \"type\"".into()))? {
            // Its codec is the driver's to know.
            "setup" => known::<Protocol>("protocol", value.get("protocol"))?,
            "run" => {
                let steps = value.get("steps").and_then(Value::as_array);
                steps.into_iter().flatten().try_for_each(known_step)?;
            }
            "hello" | "close" => {}
            other => return Err(unsupported("request", other)),
        }
        serde_json::from_value(value).map_err(malformed)
    }
}

fn known_step(step: &Value) -> Result<(), Refusal> {
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
    known::<Reconnect>("reconnect", step.get("mode"))
}

/// A string where a word of `T` belongs must be one; anything else is left to serde.
fn known<T: DeserializeOwned>(kind: &str, value: Option<&Value>) -> Result<(), Refusal> {
    match value {
        Some(Value::String(word)) if serde_json::from_value::<T>(word.as_str().into()).is_err() => {
            Err(unsupported(kind, word))
        }
        _ => Ok(()),
    }
}

fn unsupported(kind: &str, word: &str) -> Refusal {
    let word: String = word.chars().take(64).collect();
    Refusal::Unsupported {
        what: format!("{kind} {word}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn malformed(error: serde_json::Error) -> Refusal {
    Refusal::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn unsupported_is(line: &str, what: &str) {
        assert_eq!(
            Request::parse(line),
            Err(Refusal::Unsupported { what: what.into() })
        );
    }

    #[test]
    fn unknown_words_are_named() {
        unsupported_is(r#"{"type":"dance"}"#, "request dance");
        unsupported_is(
            r#"{"type":"setup","url":"https://a:1","ca_file":"ca","protocol":"h9","codec":"json","timeout_ns":1}"#,
            "protocol h9",
        );
        unsupported_is(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"teleport"}]}"#,
            "step teleport",
        );
        unsupported_is(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"reconnect","mode":"warp"}]}"#,
            "reconnect warp",
        );
        unsupported_is(
            r#"{"type":"run","steps":[{"id":1,"group":0,"step":"pause","ns":1,"start":{"when":1}}]}"#,
            "start when",
        );
    }

    #[test]
    fn a_known_word_without_its_fields_is_malformed() {
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
                matches!(Request::parse(line), Err(Refusal::Malformed(_))),
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
