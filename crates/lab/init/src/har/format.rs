//! The parts of HAR 1.2 that a study needs. Programs write `null`, numbers for text or nothing at all where the format
//! wants a value. Such entries are read as far as possible.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::when;

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
    pub(super) started_date_time: String,
    /// In milliseconds.
    #[serde(default, deserialize_with = "number")]
    time: Option<f64>,
    #[serde(default, deserialize_with = "numbers")]
    timings: Vec<f64>,
    #[serde(borrow)]
    pub(super) request: Request<'a>,
    #[serde(borrow)]
    pub(super) response: Option<Response<'a>>,
    /// Some programs write a number.
    pub(super) connection: Option<Value>,
    /// `memory` or `disk`, by Chrome.
    #[serde(rename = "_fromCache")]
    from_cache: Option<Value>,
    /// By Safari, e.g. `Network Load` or `Memory Cache`.
    #[serde(rename = "_fetchType", default, deserialize_with = "text")]
    fetch_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request<'a> {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    #[serde(default, deserialize_with = "number")]
    pub(super) body_size: Option<f64>,
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
    /// `base64`, by Reqable and HTTP Toolkit.
    #[serde(default, deserialize_with = "text")]
    pub(super) encoding: String,
    /// A form's fields, instead of `text`.
    #[serde(default, deserialize_with = "params")]
    pub(super) params: Vec<Param>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Param {
    #[serde(default, deserialize_with = "text")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) value: String,
    #[serde(default, deserialize_with = "text")]
    pub(super) file_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    #[serde(default, deserialize_with = "number")]
    pub(super) status: Option<f64>,
    #[serde(default, deserialize_with = "fields")]
    pub(super) headers: Vec<Field>,
    /// On the wire.
    #[serde(default, deserialize_with = "number")]
    pub(super) body_size: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    pub(super) headers_size: Option<f64>,
    /// Head and body on the wire, by Chrome and Safari.
    #[serde(rename = "_transferSize", default, deserialize_with = "number")]
    pub(super) transfer_size: Option<f64>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content<'a> {
    /// Decoded.
    #[serde(default, deserialize_with = "number")]
    pub(super) size: Option<f64>,
    pub(super) mime_type: Option<String>,
    #[serde(borrow)]
    pub(super) text: Option<Cow<'a, str>>,
    /// `base64`; anything else, if `text` is the text itself.
    #[serde(default, deserialize_with = "text")]
    pub(super) encoding: String,
}

impl Entry<'_> {
    /// Returns the start in ns since 1970; none if the time is missing or cannot be read.
    pub(super) fn start_ns(&self) -> Option<i128> {
        when::ns_since_1970(&self.started_date_time)
    }

    /// Returns the duration in ns: the total if it is given, else the sum of the phases.
    pub(super) fn took_ns(&self) -> u64 {
        let ms = self.time.unwrap_or_else(|| self.timings.iter().sum());
        (ms.min(MAX_MS) * 1e6) as u64
    }

    /// Reports whether the response came from a cache.
    pub(super) fn is_from_cache(&self) -> bool {
        let Some(response) = &self.response else {
            return false;
        };
        let decoded = response.content.as_ref().and_then(|content| content.size);
        // Playwright writes the cached response where the server confirmed it with 304.
        let only_head_came = response.transfer_size == Some(0.0)
            || response.body_size == Some(0.0)
                && response.transfer_size.is_some()
                && response.transfer_size == response.headers_size;
        // Firefox knows nothing of what it took from its cache, or all but a head on the wire.
        let is_unknown =
            response.headers.is_empty() && (response.body_size, decoded) == (None, None);
        let has_no_head = !response.headers.is_empty() && response.headers_size == Some(0.0);
        let by_firefox =
            self.time == Some(0.0) && self.connection.is_none() && (is_unknown || has_no_head);
        self.from_cache.as_ref().is_some_and(is_set)
            || self.fetch_type.ends_with("Cache")
            || only_head_came && decoded.is_some_and(|bytes| bytes > 0.0)
            || by_firefox
    }
}

fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// Returns why an entry cannot be read, without the place in it, which the user does not see.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// Reads a number. None stands for anything that is not a number, and for -1.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(number_of(&Value::deserialize(deserializer)?))
}

fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|n| n.is_finite() && *n >= 0.0)
}

/// Reads the numbers among the phases of a request, but for `ssl`, which is a part of `connect`.
fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let phases = value.as_object().into_iter().flatten();
    let phases = phases.filter(|(name, _)| *name != "ssl" && !name.starts_with('_'));
    Ok(phases.filter_map(|(_, value)| number_of(value)).collect())
}

/// Reads text, a number or a boolean as text. Anything else is the empty text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
        _ => String::new(),
    })
}

/// Reads the parameters of a list and skips those that cannot be read.
fn params<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Param>, D::Error> {
    let list = Value::deserialize(deserializer)?;
    let list = list.as_array().into_iter().flatten();
    Ok(list
        .filter_map(|param| serde_json::from_value(param.clone()).ok())
        .collect())
}

/// Reads a list of fields. Anything else is an empty list.
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
