//! The message of the `call` step and its two encodings.

use serde::{Deserialize, Serialize};

use crate::v1;

/// The message of the `call` step. The server answers with an equal one.
///
/// Without padding and with the current time in milliseconds, it takes 26 bytes as JSON and 7 as
/// Protobuf: the payload of the mobile-grpc study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Any number; by convention, when the request started, in ms since 1970.
    pub start_ts: u64,
    /// Any text, to make the message larger.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub padding: String,
}

/// The error for a body that is not an echo message.
#[derive(Debug, thiserror::Error)]
#[error("not an echo message: {0}; expected {{\"start_ts\":<integer>}} and optionally \"padding\"")]
pub struct EchoError(#[from] serde_json::Error);

impl Echo {
    /// Parses JSON. Unknown fields are refused, so that the two sides cannot silently disagree.
    pub fn from_json(text: &[u8]) -> Result<Self, EchoError> {
        Ok(serde_json::from_slice(text)?)
    }

    /// Returns the message as JSON without white space, `start_ts` first.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an integer and a string always serialise")
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
    fn published_message_survives_both_encodings() {
        let text = br#"{"start_ts":1763757325123}"#;
        assert_eq!(text.len(), 26);
        let echo = Echo::from_json(text).unwrap();
        let proto = v1::EchoRequest::from(echo.clone()).encode_to_vec();
        assert_eq!(proto.len(), 7);
        let back = v1::EchoReply::decode(proto.as_slice()).unwrap();
        assert_eq!(Echo::from(back).to_json(), text);
    }

    #[test]
    fn empty_padding_is_omitted() {
        let padded = Echo {
            start_ts: 1,
            padding: "x\"é".into(),
        };
        assert_eq!(Echo::from_json(&padded.to_json()).unwrap(), padded);
        assert_eq!(Echo::default().to_json(), br#"{"start_ts":0}"#);
    }

    #[test]
    fn other_messages_are_refused() {
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
