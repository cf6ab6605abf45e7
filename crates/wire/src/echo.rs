//! The small call's message and its two forms.

use serde::{Deserialize, Serialize};

use crate::v1;

/// The small call's message. The server answers with an equal one.
///
/// Without padding its JSON form is 26 bytes and its Protobuf form 7 for a time stamp of
/// today in milliseconds, the payload of study 1 (mobile-grpc).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Any number; by custom, when the caller started, in ms since 1970.
    pub start_ts: u64,
    /// Makes the message larger.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub padding: String,
}

/// A body that is not an echo message.
#[derive(Debug, thiserror::Error)]
#[error("not an echo message: {0}; expected {{\"start_ts\":<integer>}} and optionally \"padding\"")]
pub struct EchoError(#[from] serde_json::Error);

impl Echo {
    /// Reads the JSON form. Unknown fields are refused, lest two sides disagree unseen.
    pub fn from_json(text: &[u8]) -> Result<Self, EchoError> {
        Ok(serde_json::from_slice(text)?)
    }

    /// The JSON form, without white space, `start_ts` first.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an integer and a string always have a JSON form")
    }
}

impl From<Echo> for v1::EchoRequest {
    fn from(Echo { start_ts, padding }: Echo) -> Self {
        Self { start_ts, padding }
    }
}

impl From<v1::EchoRequest> for Echo {
    fn from(v1::EchoRequest { start_ts, padding }: v1::EchoRequest) -> Self {
        Self { start_ts, padding }
    }
}

impl From<Echo> for v1::EchoReply {
    fn from(Echo { start_ts, padding }: Echo) -> Self {
        Self { start_ts, padding }
    }
}

impl From<v1::EchoReply> for Echo {
    fn from(v1::EchoReply { start_ts, padding }: v1::EchoReply) -> Self {
        Self { start_ts, padding }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn the_published_message_survives_both_forms() {
        let text = br#"{"start_ts":1763757325123}"#;
        assert_eq!(text.len(), 26);
        let echo = Echo::from_json(text).unwrap();
        let proto = v1::EchoRequest::from(echo.clone()).encode_to_vec();
        assert_eq!(proto.len(), 7);
        let back = v1::EchoReply::decode(proto.as_slice()).unwrap();
        assert_eq!(Echo::from(back).to_json(), text);
    }

    #[test]
    fn padding_is_carried_and_left_out_when_empty() {
        let padded = Echo {
            start_ts: 1,
            padding: "x\"é".into(),
        };
        assert_eq!(Echo::from_json(&padded.to_json()).unwrap(), padded);
        assert_eq!(Echo::default().to_json(), br#"{"start_ts":0}"#);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            r#"{"start_ts":-1}"#,
            r#"{"start_ts":1.5}"#,
            r#"{"start_ts":18446744073709551616}"#,
            r#"{"start_ts":1,"start_ts":2}"#,
            r#"{"start_ts":1,"more":2}"#,
            r#"{"start_ts":1}x"#,
            r#"{"start_ts":1,"padding":7}"#,
        ] {
            assert!(Echo::from_json(text.as_bytes()).is_err(), "{text}");
        }
        assert!(Echo::from_json(b"{\"start_ts\":1,\"padding\":\"\xff\"}").is_err());
    }
}
