//! HAR 1.2, as browsers and proxies save it.

mod encoding;
mod format;
mod size;
mod when;

use std::borrow::Cow;

use http::Method;

use crate::held::{self, EVENT_STREAM};
use crate::notes::Notes;
use crate::seen::{ASSUMED_BYTES, Body, FORM, Head, Seen};
use crate::url::{Url, percent_encoded};
use format::{Entry, Field, Har, Param, Request, Response};
use size::OnWire;

/// A study expands to at most 4096 steps; of a longer recording the first requests are enough.
const MAX_REQUESTS: usize = 1000;
/// Broken entries that are named; one program breaks all of its entries in one way.
const MAX_BROKEN: usize = 3;
/// No body is longer; many of these have a sum.
const MAX_BYTES: u64 = 1 << 40;
/// Why a request is left out whose body no server sent.
const CACHED: &str = "its response came from a cache";
/// What a part of a multipart form has around its value: boundary, fields and line breaks.
const PART_BYTES: usize = 150;

/// Why a HAR cannot become a study.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// It is no HAR.
    #[error("{kind}: {0}; a browser saves one with \"save all as HAR\" in its network panel", kind = kind(.0))]
    Syntax(#[from] serde_json::Error),
    /// It is something else around a HAR.
    #[error("{0}")]
    Encoding(&'static str),
    /// It has no entries.
    #[error("it has no requests: record some before you save it")]
    Empty,
    /// No request went to the host that was named.
    #[error("{0}")]
    NoSuchHost(String),
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

/// Reads the requests in the order of their start.
pub(crate) fn read(
    har: &[u8],
    keep_values: bool,
    notes: &mut Notes,
) -> Result<Vec<Seen>, HarError> {
    let har = har.strip_prefix(b"\xef\xbb\xbf").unwrap_or(har);
    encoding::check(har).map_err(HarError::Encoding)?;
    let har = encoding::without_half_pairs(har);
    let har = har.as_ref();
    let raw = serde_json::from_slice::<Har<'_>>(har)?.log.entries;
    if raw.is_empty() {
        return Err(HarError::Empty);
    }
    let mut entries = Vec::with_capacity(raw.len());
    let mut broken = 0;
    for (at, raw) in raw.iter().enumerate() {
        match serde_json::from_str::<Entry<'_>>(raw.get()) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                broken += 1;
                if broken <= MAX_BROKEN {
                    let reason = format::reason(&error);
                    notes.left_out(format!("entry {} of the file: {reason}", at + 1));
                }
            }
        }
    }
    if broken > MAX_BROKEN {
        let others = broken - MAX_BROKEN;
        notes.left_out(format!(
            "{others} more entries of the file that are not as HAR 1.2 has them"
        ));
    }
    let mut seen = Vec::new();
    for (entry, start_ns) in in_order(&entries, notes) {
        if seen.len() == MAX_REQUESTS {
            notes.left_out(format!("a request after the first {MAX_REQUESTS}"));
            continue;
        }
        match entry.seen(start_ns, keep_values, notes) {
            Ok(request) => seen.push(request),
            Err(reason) => notes.left_out(format!("a request: {reason}")),
        }
    }
    Ok(held::without_long_polls(seen, notes))
}

/// Returns the entries by their start, and that after the first one's. One without a time follows the one
/// before it in the file.
fn in_order<'a, 'b>(entries: &'b [Entry<'a>], notes: &mut Notes) -> Vec<(&'b Entry<'a>, u64)> {
    let known = entries.iter().filter_map(Entry::start_ns);
    let first_ns = known.min().unwrap_or(0);
    let mut end_ns = first_ns;
    let mut starts = Vec::with_capacity(entries.len());
    for entry in entries {
        let start_ns = entry.start_ns().unwrap_or_else(|| {
            let what = match entry.started_date_time.as_str() {
                "" => "a request without a time".to_owned(),
                other => format!(
                    "a request whose time cannot be read ({:.40})",
                    other.escape_debug()
                ),
            };
            notes.remark(format!(
                "{what} is taken to follow the one before it in the file"
            ));
            end_ns
        });
        end_ns = start_ns + i128::from(entry.took_ns());
        starts.push((entry, u64::try_from(start_ns - first_ns).unwrap_or(0)));
    }
    // Stable: entries of one time stay in the file's order.
    starts.sort_by_key(|(_, start_ns)| *start_ns);
    starts
}

impl Entry<'_> {
    fn seen(&self, start_ns: u64, keep_values: bool, notes: &mut Notes) -> Result<Seen, String> {
        let absent = "it has no response: it was blocked, cancelled or cached";
        let request = &self.request;
        let response = self.response.as_ref().ok_or(absent)?;
        let status = response.status.unwrap_or(0.0) as i64;
        if self.is_from_cache() {
            return Err(CACHED.to_owned());
        }
        match status {
            101 => return Err("it opened a WebSocket".to_owned()),
            304 => return Err(CACHED.to_owned()),
            ..=0 => return Err(absent.to_owned()),
            _ if response.is_event_stream() => {
                return Err("its response is a stream of events, which has no end".to_owned());
            }
            _ => {}
        }
        let text = request.text();
        let head = Head {
            method: &request.method,
            url: &request.url,
            headers: fields(&request.headers),
            content_type: request.media_type(),
            body: text.as_deref(),
        };
        let head = head.plain(keep_values, notes)?;
        if !(200..=299).contains(&status) {
            let had = format!("had status {status}; the lab answers 200");
            notes.counted("recorded response", had);
        }
        let may_have_body = !matches!(head.method, Method::GET | Method::DELETE);
        let request_body = request.body(text.as_deref(), keep_values, notes);
        if !may_have_body && request_body.bytes > 0 {
            notes.left_out(format!("the body of a {}", head.method));
        }
        Ok(Seen {
            start_ns,
            end_ns: start_ns.saturating_add(self.took_ns()),
            connection: self.connection(),
            request: if may_have_body {
                request_body
            } else {
                Body::default()
            },
            response: response.body(keep_values, notes),
            ..head
        })
    }
}

impl Entry<'_> {
    /// Returns the id of the connection that the request used. None if it is the server's port: Firefox and Firebug
    /// write that instead, the same for every host.
    fn connection(&self) -> Option<String> {
        let text = self.connection.as_ref()?.to_string();
        let number = text.trim_matches('"').parse::<u64>();
        let port = Url::parse(&self.request.url).ok();
        let port = port.and_then(|url| url.origin.rsplit_once(':')?.1.parse::<u64>().ok());
        let is_port = number.is_ok_and(|n| Some(n) == port);
        (!is_port).then_some(text)
    }
}

impl Request<'_> {
    fn media_type(&self) -> Option<&str> {
        let data = self.post_data.as_ref();
        let of_data = data.and_then(|data| data.mime_type.as_deref());
        let of_data = of_data.filter(|t| !t.is_empty());
        of_data.or(named(&self.headers, "content-type"))
    }

    /// Returns the body of the request, if it was recorded and is text.
    fn text(&self) -> Option<Cow<'_, str>> {
        let data = self.post_data.as_ref()?;
        let text = data.text.as_deref().unwrap_or_default();
        if encoding::is_base64(&data.encoding) {
            return encoding::decoded(text)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .map(Cow::Owned);
        }
        if !text.is_empty() {
            return Some(Cow::Borrowed(text));
        }
        let params = self.params().filter(|_| !self.is_multipart())?;
        Some(Cow::Owned(form(params)))
    }

    fn params(&self) -> Option<&[Param]> {
        let params = self.post_data.as_ref()?.params.as_slice();
        (!params.is_empty()).then_some(params)
    }

    fn may_have_body(&self) -> bool {
        let method = self.method.to_ascii_uppercase();
        !matches!(method.as_str(), "GET" | "DELETE")
    }

    fn is_multipart(&self) -> bool {
        let media_type = self.media_type().unwrap_or_default();
        media_type.to_ascii_lowercase().starts_with("multipart/")
    }

    fn body(&self, text: Option<&str>, keep_values: bool, notes: &mut Notes) -> Body {
        let media_type = match self.params() {
            Some(_) => self.media_type().or(Some(FORM)),
            None => self.media_type(),
        };
        let stated = stated(&self.headers);
        if let Some(text) = text {
            let body = Body::of_request(text, media_type, keep_values, notes);
            // Browsers write each byte of a binary body as a character, and cut long texts.
            let bytes = match (&body.json, &body.form) {
                (None, None) => stated.unwrap_or(body.bytes),
                _ => body.bytes,
            };
            return Body { bytes, ..body };
        }
        let data = self.post_data.as_ref();
        let encoded = data
            .and_then(|data| data.text.as_deref())
            .unwrap_or_default();
        let recorded = encoding::decoded(encoded).map(|bytes| bytes.len() as u64);
        let known = recorded
            .filter(|n| *n > 0)
            .or(stated)
            .or(self.body_size.map(bytes).filter(|n| *n > 0));
        match (known, self.params()) {
            (Some(bytes), _) => Body::of_bytes(bytes, media_type),
            (None, Some(params)) => {
                notes.counted(
                    "request",
                    "had a multipart body, whose length is computed from its parts",
                );
                let part =
                    |p: &Param| PART_BYTES + p.name.len() + p.value.len() + p.file_name.len();
                let bytes: usize = params.iter().map(part).sum();
                Body::of_bytes(bytes as u64, media_type)
            }
            // Who writes no size writes none of an empty body either.
            (None, None) if data.is_some() && self.body_size.is_none() && self.may_have_body() => {
                notes.counted(
                    "request",
                    format!("had a body of unknown length; {ASSUMED_BYTES} bytes are assumed: change `request_bytes`"),
                );
                Body::assumed(media_type)
            }
            (None, None) => Body::default(),
        }
    }
}

impl Response<'_> {
    fn media_type(&self) -> Option<&str> {
        let content = self.content.as_ref();
        let of_content = content.and_then(|content| content.mime_type.as_deref());
        let of_content = of_content.filter(|t| !t.is_empty() && *t != "x-unknown");
        of_content.or(named(&self.headers, "content-type"))
    }

    fn is_event_stream(&self) -> bool {
        let media_type = self.media_type().unwrap_or_default();
        media_type.to_ascii_lowercase().starts_with(EVENT_STREAM)
    }

    /// Returns the body with its length on the wire. JSON keeps its text, unless it came compressed to a known length.
    fn body(&self, keep_values: bool, notes: &mut Notes) -> Body {
        let media_type = self.media_type();
        let on_wire = self.on_wire();
        let packed = match (self.compressed(), on_wire) {
            (Some(_), OnWire::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        // Nothing is replaced in a text that is not written.
        let mut unsaid = Notes::default();
        let of_text = match packed {
            Some(_) => &mut unsaid,
            None => &mut *notes,
        };
        let text = self.text();
        let body = text.map(|text| Body::of_text(&text, media_type, keep_values, of_text));
        if let Some(body) = body.filter(|body| body.json.is_some()) {
            if let Some(bytes) = packed {
                return Body::packed_json(bytes, media_type);
            }
            if let Some(encoding) = self.compressed() {
                let came = format!(
                    "came compressed ({encoding}) to an unknown length; an arm's `codec` compresses it, e.g. \
                     \"json+gzip-6\""
                );
                notes.counted("JSON response", came);
            }
            return body;
        }
        match on_wire {
            OnWire::Bytes(bytes) => Body::of_bytes(bytes, media_type),
            OnWire::Decoded(bytes) => {
                notes.counted(
                    "compressed response",
                    "of which only the longer, decoded length is known; change `response_bytes`",
                );
                Body::of_bytes(bytes, media_type)
            }
            OnWire::Unknown => {
                notes.counted("response", format!("of unknown length; {ASSUMED_BYTES} bytes are assumed: change `response_bytes`"));
                Body::assumed(media_type)
            }
        }
    }

    /// Returns the body of the response, if it was recorded and is text.
    fn text(&self) -> Option<Cow<'_, str>> {
        let content = self.content.as_ref()?;
        let text = content.text.as_deref().filter(|text| !text.is_empty())?;
        if encoding::is_base64(&content.encoding) {
            return String::from_utf8(encoding::decoded(text)?)
                .ok()
                .map(Cow::Owned);
        }
        Some(Cow::Borrowed(text))
    }
}

/// Joins the fields of a form as browsers do (WHATWG URL, section 5.2).
fn form(params: &[Param]) -> String {
    let encoded = |text: &str| percent_encoded(text.as_bytes(), b"*-._ ").replace(' ', "+");
    let pair = |p: &Param| format!("{}={}", encoded(&p.name), encoded(&p.value));
    let pairs: Vec<String> = params.iter().map(pair).collect();
    pairs.join("&")
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

/// Converts a size to whole bytes; some programs write a fraction.
fn bytes(size: f64) -> u64 {
    (size as u64).min(MAX_BYTES)
}

/// Returns the length that `content-length` states.
fn stated(headers: &[Field]) -> Option<u64> {
    let length = named(headers, "content-length")?.trim();
    let length: u64 = length.parse().ok()?;
    Some(length.min(MAX_BYTES))
}
