//! The parts of HAR 1.2 that a study needs. Programs write `null`, numbers for text and nothing at all where
//! the format wants a value, so each is taken as well as it can be.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Far above what any entry takes.
const MAX_MS: f64 = 3.6e6;

#[derive(Deserialize)]
pub(super) struct Har<'a> {
    #[serde(borrow)]
    pub(super) log: Log<'a>,
}

#[derive(Deserialize)]
pub(super) struct Log<'a> {
    /// Each is read by itself, so that one that is broken does not spoil the others.
    #[serde(borrow)]
    pub(super) entries: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    #[serde(default, deserialize_with = "text")]
    started_date_time: String,
    /// In milliseconds.
    #[serde(default, deserialize_with = "number")]
    time: f64,
    #[serde(borrow)]
    pub(super) request: Request<'a>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    /// Some programs write a number.
    pub(super) connection: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    #[serde(default, deserialize_with = "number")]
    pub(super) body_size: f64,
    #[serde(borrow)]
    pub(super) post_data: Option<PostData<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Field {
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData<'a> {
    pub(super) mime_type: Option<String>,
    #[serde(borrow)]
    pub(super) text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(default, deserialize_with = "number")]
    pub(super) status: f64,
    #[serde(default, deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    /// On the wire; -1 if that is not known.
    #[serde(default, deserialize_with = "number")]
    pub(super) body_size: f64,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content<'a> {
    /// Decoded.
    #[serde(default, deserialize_with = "number")]
    pub(super) size: f64,
    pub(super) mime_type: Option<String>,
    #[serde(borrow)]
    pub(super) text: Option<Cow<'a, str>>,
    /// `base64`, or none if `text` is the text itself.
    pub(super) encoding: Option<String>,
}

impl Entry<'_> {
    /// Since 1970; none if the time is not there or cannot be read.
    pub(super) fn start_ns(&self) -> Option<i128> {
        let time = OffsetDateTime::parse(&self.started_date_time, &Rfc3339);
        time.ok().map(OffsetDateTime::unix_timestamp_nanos)
    }

    pub(super) fn took_ns(&self) -> u64 {
        (self.time.clamp(0.0, MAX_MS) * 1e6) as u64
    }
}

/// Returns why an entry cannot be read, without a place in it that nobody sees.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// 0 where there is no number.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    };
    Ok(number.unwrap_or(0.0))
}

/// Numbers are text, too; anything else is none.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
        _ => String::new(),
    })
}

/// No fields where there is no list.
fn fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Field>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Fields {
        List(Vec<Field>),
        Other(IgnoredAny),
    }
    Ok(match Fields::deserialize(deserializer)? {
        Fields::List(fields) => fields,
        Fields::Other(_) => Vec::new(),
    })
}
