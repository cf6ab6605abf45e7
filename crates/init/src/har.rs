//! HAR 1.2, as browsers and proxies save it.

use std::borrow::Cow;

use http::Method;
use serde::Deserialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::notes::Notes;
use crate::seen::{Body, Head, Seen};

/// A study expands to at most 4096 steps; of a longer recording the first requests are enough.
const MAX_REQUESTS: usize = 1000;
/// Far above what any entry takes.
const MAX_MS: f64 = 3.6e6;

/// Why a HAR cannot become a study.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// It is no HAR.
    #[error("{kind}: {0}; a browser saves one with \"save all as HAR\" in its network panel", kind = kind(.0))]
    Syntax(#[from] serde_json::Error),
    /// No request can be sent, for these reasons.
    #[error("none of its requests can be sent: {}", .0.join("; "))]
    NoRequest(Vec<String>),
}

fn kind(error: &serde_json::Error) -> &'static str {
    match error.is_data() {
        true => "not a HAR 1.2",
        false => "not JSON, and so not a HAR",
    }
}

#[derive(Deserialize)]
struct Har<'a> {
    #[serde(borrow)]
    log: Log<'a>,
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    entries: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    started_date_time: String,
    /// In milliseconds.
    #[serde(default)]
    time: f64,
    #[serde(borrow)]
    request: Request<'a>,
    #[serde(borrow)]
    response: Response<'a>,
    /// Some programs write a number.
    connection: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    body_size: f64,
    #[serde(borrow)]
    post_data: Option<PostData<'a>>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData<'a> {
    mime_type: Option<String>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    headers: Vec<Field>,
    /// On the wire; -1 if that is not known.
    #[serde(default)]
    body_size: f64,
    #[serde(borrow)]
    content: Option<Content<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    /// Decoded.
    #[serde(default)]
    size: f64,
    mime_type: Option<String>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    /// `base64`, or none if `text` is the text itself.
    encoding: Option<String>,
}

/// Reads the requests in the order of their start.
pub(crate) fn read(
    har: &[u8],
    keep_values: bool,
    notes: &mut Notes,
) -> Result<Vec<Seen>, HarError> {
    let har = har.strip_prefix(b"\xef\xbb\xbf").unwrap_or(har);
    let mut entries = serde_json::from_slice::<Har<'_>>(har)?.log.entries;
    // Stable: entries of unknown time stay where they are, at the beginning.
    entries.sort_by_key(Entry::start_ns);
    let first_ns = entries.first().map_or(0, Entry::start_ns);
    let mut seen = Vec::new();
    for entry in &entries {
        if seen.len() == MAX_REQUESTS {
            notes.left_out(format!("a request after the first {MAX_REQUESTS}"));
            continue;
        }
        match entry.seen(first_ns, keep_values, notes) {
            Ok(request) => seen.push(request),
            Err(reason) => notes.left_out(format!("a request: {reason}")),
        }
    }
    Ok(seen)
}

impl Entry<'_> {
    /// Since 1970; 0 if the time cannot be read.
    fn start_ns(&self) -> i128 {
        OffsetDateTime::parse(&self.started_date_time, &Rfc3339)
            .map_or(0, OffsetDateTime::unix_timestamp_nanos)
    }

    fn seen(&self, first_ns: i128, keep_values: bool, notes: &mut Notes) -> Result<Seen, String> {
        let Entry {
            request, response, ..
        } = self;
        match response.status {
            101 => return Err("it opened a WebSocket".to_owned()),
            304 => return Err("its response came from a cache (status 304)".to_owned()),
            ..=0 => {
                return Err("it has no response: it was blocked, cancelled or cached".to_owned());
            }
            200..=299 => {}
            status => notes.remark(format!(
                "the study answers a request with status 200 that had status {status}"
            )),
        }
        let head = Head {
            method: &request.method,
            url: &request.url,
            headers: fields(&request.headers),
        };
        let head = head.plain(keep_values, notes)?;
        let may_have_body = !matches!(head.method, Method::GET | Method::DELETE);
        let request_body = request.body(keep_values, notes);
        if !may_have_body && request_body.bytes > 0 {
            notes.left_out(format!("the body of a {}", head.method));
        }
        let start_ns = u64::try_from(self.start_ns() - first_ns).unwrap_or(0);
        let took_ns = (self.time.clamp(0.0, MAX_MS) * 1e6) as u64;
        Ok(Seen {
            start_ns,
            end_ns: start_ns.saturating_add(took_ns),
            origin: head.origin,
            connection: self.connection.as_ref().map(ToString::to_string),
            method: head.method,
            path: head.path,
            headers: head.headers,
            request: if may_have_body {
                request_body
            } else {
                Body::default()
            },
            response: response.body(keep_values, notes),
        })
    }
}

impl Request<'_> {
    fn body(&self, keep_values: bool, notes: &mut Notes) -> Body {
        let data = self.post_data.as_ref();
        let media_type = data.and_then(|data| data.mime_type.as_deref());
        let media_type = media_type
            .filter(|t| !t.is_empty())
            .or(named(&self.headers, "content-type"));
        match data.and_then(|data| data.text.as_deref()) {
            Some(text) if !text.is_empty() => Body::of_text(text, media_type, keep_values, notes),
            _ => Body::of_bytes(bytes(self.body_size), media_type),
        }
    }
}

impl Response<'_> {
    /// Text counts as it was decoded, anything else as it was on the wire.
    fn body(&self, keep_values: bool, notes: &mut Notes) -> Body {
        let Some(content) = &self.content else {
            return Body::of_bytes(bytes(self.body_size), None);
        };
        let media_type = content
            .mime_type
            .as_deref()
            .filter(|t| !t.is_empty() && *t != "x-unknown");
        let media_type = media_type.or(named(&self.headers, "content-type"));
        let compressed = named(&self.headers, "content-encoding").filter(|e| *e != "identity");
        if let (Some(text), None) = (&content.text, &content.encoding) {
            let body = Body::of_text(text, media_type, keep_values, notes);
            if body.json.is_some() {
                if let Some(encoding) = compressed {
                    notes.remark(format!(
                        "a JSON response came compressed ({encoding}); an arm's `codec` compresses it, \
                         e.g. \"json+gzip-6\""
                    ));
                }
                return body;
            }
        }
        let on_wire = bytes(self.body_size);
        match compressed {
            Some(_) if on_wire > 0 => Body::of_bytes(on_wire, media_type),
            _ => Body::of_bytes(bytes(content.size).max(on_wire), media_type),
        }
    }
}

fn fields(fields: &[Field]) -> Vec<(&str, &str)> {
    fields
        .iter()
        .map(|f| (f.name.as_str(), f.value.as_str()))
        .collect()
}

fn named<'a>(fields: &'a [Field], name: &str) -> Option<&'a str> {
    let mut fields = fields.iter();
    fields
        .find(|f| f.name.eq_ignore_ascii_case(name))
        .map(|f| f.value.as_str())
}

/// A size; some programs write -1, or a fraction.
fn bytes(size: f64) -> u64 {
    size.max(0.0) as u64
}
