//! HAR 1.2, as browsers and proxies save it.

mod format;

use http::Method;

use crate::held::{self, EVENT_STREAM};
use crate::notes::Notes;
use crate::seen::{Body, Head, Seen};
use format::{Entry, Field, Har, Request, Response};

/// A study expands to at most 4096 steps; of a longer recording the first requests are enough.
const MAX_REQUESTS: usize = 1000;
/// Broken entries that are named; one program breaks all of its entries in one way.
const MAX_BROKEN: usize = 3;

/// Why a HAR cannot become a study.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// It is no HAR.
    #[error("{kind}: {0}; a browser saves one with \"save all as HAR\" in its network panel", kind = kind(.0))]
    Syntax(#[from] serde_json::Error),
    /// It has no entries.
    #[error("it has no requests: record some before you save it")]
    Empty,
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
            notes.remark(
                "a request without a time is taken to follow the one before it in the file",
            );
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
        let status = response.status as i64;
        match status {
            101 => return Err("it opened a WebSocket".to_owned()),
            304 => return Err("its response came from a cache (status 304)".to_owned()),
            ..=0 => return Err(absent.to_owned()),
            _ if response.is_event_stream() => {
                return Err("its response is a stream of events, which has no end".to_owned());
            }
            _ => {}
        }
        let head = Head {
            method: &request.method,
            url: &request.url,
            headers: fields(&request.headers),
            content_type: request.media_type(),
            body: request.text(),
        };
        let head = head.plain(keep_values, notes)?;
        if !(200..=299).contains(&status) {
            let had = format!("had status {status}; the lab answers 200");
            notes.counted("recorded response", had);
        }
        let may_have_body = !matches!(head.method, Method::GET | Method::DELETE);
        let request_body = request.body(keep_values, notes);
        if !may_have_body && request_body.bytes > 0 {
            notes.left_out(format!("the body of a {}", head.method));
        }
        Ok(Seen {
            start_ns,
            end_ns: start_ns.saturating_add(self.took_ns()),
            connection: self.connection.as_ref().map(ToString::to_string),
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

impl Request<'_> {
    fn media_type(&self) -> Option<&str> {
        let data = self.post_data.as_ref();
        let of_data = data.and_then(|data| data.mime_type.as_deref());
        let of_data = of_data.filter(|t| !t.is_empty());
        of_data.or(named(&self.headers, "content-type"))
    }

    /// The body, if it was recorded.
    fn text(&self) -> Option<&str> {
        let text = self.post_data.as_ref()?.text.as_deref()?;
        Some(text).filter(|text| !text.is_empty())
    }

    fn body(&self, keep_values: bool, notes: &mut Notes) -> Body {
        match self.text() {
            Some(text) => Body::of_request(text, self.media_type(), keep_values, notes),
            None => Body::of_bytes(bytes(self.body_size), self.media_type()),
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

    /// Text counts as it was decoded, anything else as it was on the wire.
    fn body(&self, keep_values: bool, notes: &mut Notes) -> Body {
        let Some(content) = &self.content else {
            return Body::of_bytes(bytes(self.body_size), None);
        };
        let media_type = self.media_type();
        let compressed = named(&self.headers, "content-encoding").filter(|e| *e != "identity");
        if let (Some(text), None) = (&content.text, &content.encoding) {
            let body = Body::of_text(text, media_type, keep_values, notes);
            if body.json.is_some() {
                if let Some(encoding) = compressed {
                    let came = format!(
                        "came compressed ({encoding}); an arm's `codec` compresses it, e.g. \"json+gzip-6\""
                    );
                    notes.counted("JSON response", came);
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
