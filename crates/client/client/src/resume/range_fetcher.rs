//! Range requests for a body, and the check that a response is the requested part of the same body.

use std::ops::Range;
use std::time::Instant;

use http::header::{
    self, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    IF_RANGE,
};
use http::{HeaderValue, Method, StatusCode, request, response};
use route::Policy;

use crate::error::Error;
use crate::mailbox::{Mailbox, OutboundRequest};
use crate::message::{EndedRequest, Message};
use crate::metrics::Outcome;
use crate::report::{Progress, Report};
use crate::response::Response;

/// Returns length and validator of a body whose rest can be requested. That takes the whole answer to a GET, from a
/// server that has ranges and a strong validator. By the validator the server can say whether a part fits.
pub(crate) fn resumable<'a>(
    asked: &request::Parts,
    head: &'a response::Parts,
) -> Option<(u64, &'a HeaderValue)> {
    let field = |name| head.headers.get(name).map(HeaderValue::as_bytes);
    let etag = head.headers.get(ETAG)?;
    let length = head.headers.get(CONTENT_LENGTH)?.to_str().ok()?;
    let plain = asked.method == Method::GET
        && !asked.headers.contains_key(header::RANGE)
        && !asked.headers.contains_key(IF_RANGE);
    let fits = head.status == StatusCode::OK
        && field(ACCEPT_RANGES) == Some(b"bytes")
        && etag.as_bytes().starts_with(b"\"");
    (plain && fits).then_some((length.parse().ok()?, etag))
}

/// Returns the values of `content-encoding`.
pub(crate) fn coding_of(head: &response::Parts) -> Vec<HeaderValue> {
    let values = head.headers.get_all(CONTENT_ENCODING).iter();
    values.cloned().collect()
}

/// Requests ranges of one body (RFC 9110 section 14).
#[derive(Clone)]
pub(crate) struct RangeFetcher {
    pub(crate) mailbox: Mailbox,
    /// The request, without a body.
    pub(crate) outbound: OutboundRequest,
    pub(crate) etag: HeaderValue,
    /// Its values of `content-encoding`.
    pub(crate) coding: Vec<HeaderValue>,
    pub(crate) length: u64,
    pub(crate) until: Option<Instant>,
}

impl RangeFetcher {
    /// Updates the report: the body comes from another connection now.
    pub(super) fn update_report(&self, report: &mut Report, part: &Report) {
        report.resume(part);
        self.outbound.progress.set(report.clone());
    }

    /// Reports the end of the response after `response_bytes` bytes.
    pub(crate) fn report_end(&self, response_bytes: u64, outcome: Outcome) {
        let report = self.outbound.progress.report();
        let ended = EndedRequest {
            origin: self.outbound.origin.clone(),
            method: self.outbound.head.method.clone(),
            // Only a body with this status is resumed.
            status: Some(StatusCode::OK),
            label: self.outbound.label.clone(),
            request_bytes: 0,
            response_bytes,
            asked: report
                .as_ref()
                .map_or_else(Instant::now, |report| report.asked),
            report,
            outcome,
        };
        self.mailbox.send(Message::RequestEnded(Box::new(ended)));
    }

    /// Returns a copy whose requests teach the router nothing: a part is no typical request of its kind.
    pub(super) fn without_learning(mut self) -> Self {
        let traits = &mut self.outbound.traits;
        (traits.urgent, traits.bytes) = (true, Some(self.length));
        self
    }

    /// Requests a part. The answer is that part of the same body, or an error.
    pub(crate) fn fetch(
        &self,
        part: Range<u64>,
        policy: Policy,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<> {
        let (length, etag, coding) = (self.length, self.etag.clone(), self.coding.clone());
        let mut outbound = self.outbound.clone();
        let range = format!("bytes={}-{}", part.start, part.end.saturating_sub(1));
        let range = HeaderValue::try_from(range).expect("digits and text");
        outbound.head.headers.insert(header::RANGE, range);
        outbound.head.headers.insert(IF_RANGE, etag.clone());
        outbound.traits.policy = policy;
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        outbound.limits = outbound.limits.of_rest(self.until.map(left));
        outbound.is_part = true;
        // The app looks at the first one's.
        outbound.progress = Progress::default();
        let mailbox = self.mailbox.clone();
        async move {
            let response = mailbox.submit(outbound).await?;
            if is_part(response.head(), &part, length, &etag, &coding) {
                Ok(response)
            } else {
                Err(Error::Refused(response.status()))
            }
        }
    }
}

/// Reports whether this answer is that part of the body, and not a part of another body.
fn is_part(
    head: &response::Parts,
    part: &Range<u64>,
    length: u64,
    etag: &HeaderValue,
    coding: &[HeaderValue],
) -> bool {
    let last = part.end.saturating_sub(1);
    let range = format!("bytes {}-{last}/{length}", part.start);
    // A second value contradicts the first one.
    let only = |name| {
        let mut values = head.headers.get_all(name).iter();
        let value = values.next().filter(|_| values.next().is_none());
        value.map(HeaderValue::as_bytes)
    };
    let bytes = (part.end - part.start).to_string();
    let is_length = match head.headers.contains_key(CONTENT_LENGTH) {
        true => only(CONTENT_LENGTH) == Some(bytes.as_bytes()),
        false => true,
    };
    // RFC 9110 section 15.3.7.2: several parts have ranges of their own.
    const SEVERAL: &[u8] = b"multipart/byteranges";
    let has_several = head.headers.get_all(CONTENT_TYPE).iter().any(|value| {
        let kind = value.as_bytes().get(..SEVERAL.len());
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(SEVERAL))
    });
    // A part need not say it (RFC 9110 section 15.3.7); a strong validator is of one coding.
    let of_part = coding_of(head);
    let is_same =
        |(a, b): (&HeaderValue, &HeaderValue)| a.as_bytes().eq_ignore_ascii_case(b.as_bytes());
    let is_coding = of_part.is_empty()
        || of_part.len() == coding.len() && of_part.iter().zip(coding).all(is_same);
    head.status == StatusCode::PARTIAL_CONTENT
        && only(CONTENT_RANGE) == Some(range.as_bytes())
        && only(ETAG) == Some(etag.as_bytes())
        && is_length
        && !has_several
        && is_coding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, fields: &[(&str, &str)]) -> response::Parts {
        let response = http::Response::builder().status(status);
        let response = fields.iter().fold(response, |response, (name, value)| {
            response.header(*name, *value)
        });
        response.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_a_whole_answer_with_a_strong_validator_can_be_resumed() {
        let asked = |method: &str, range: Option<&str>| {
            let request = http::Request::builder().method(method);
            let request = range.into_iter().fold(request, |request, range| {
                request.header(header::RANGE, range)
            });
            request.body(()).unwrap().into_parts().0
        };
        let fields = [
            ("etag", "\"1\""),
            ("content-length", "10"),
            ("accept-ranges", "bytes"),
        ];
        let whole = head(200, &fields);
        assert!(resumable(&asked("GET", None), &whole).is_some());
        assert!(resumable(&asked("POST", None), &whole).is_none());
        assert!(resumable(&asked("GET", Some("bytes=0-4")), &whole).is_none());
        assert!(resumable(&asked("GET", None), &head(206, &fields)).is_none());
        for (i, wrong) in [
            ("etag", "W/\"1\""),
            ("content-length", "-1"),
            ("accept-ranges", "none"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut fields = fields;
            fields[i] = wrong;
            assert!(
                resumable(&asked("GET", None), &head(200, &fields)).is_none(),
                "{wrong:?}"
            );
            let missing = [fields[(i + 1) % 3], fields[(i + 2) % 3]];
            assert!(resumable(&asked("GET", None), &head(200, &missing)).is_none());
        }
    }

    #[test]
    fn a_server_that_lies_about_the_rest_is_not_believed() {
        let etag = HeaderValue::from_static("\"1\"");
        let is = |status, range, tag| {
            let head = head(status, &[("content-range", range), ("etag", tag)]);
            is_part(&head, &(4..10), 10, &etag, &[])
        };
        assert!(is(206, "bytes 4-9/10", "\"1\""));
        for (status, range, tag) in [
            (200, "bytes 4-9/10", "\"1\""),
            (206, "bytes 0-9/10", "\"1\""),
            (206, "bytes 4-8/10", "\"1\""),
            (206, "bytes 4-9/11", "\"1\""),
            (206, "bytes 4-9/*", "\"1\""),
            (206, "bytes 4-9/10", "\"2\""),
            (206, "bytes 4-9/10", "W/\"1\""),
            (416, "bytes */10", "\"1\""),
        ] {
            assert!(!is(status, range, tag), "{status} {range} {tag}");
        }
        assert!(!is_part(&head(206, &[]), &(4..10), 10, &etag, &[]));
    }

    #[test]
    fn a_part_that_contradicts_itself_or_the_whole_is_not_taken() {
        let (etag, gzip) = (
            HeaderValue::from_static("\"1\""),
            HeaderValue::from_static("gzip"),
        );
        let is = |coding: &[HeaderValue], more: &[(&str, &str)]| {
            let fields = [("content-range", "bytes 4-9/10"), ("etag", "\"1\"")];
            let head = head(206, &[&fields, more].concat());
            is_part(&head, &(4..10), 10, &etag, coding)
        };
        let coded = ("content-encoding", "gzip");
        for more in [
            &[][..],
            &[("content-length", "6")],
            &[("content-type", "video/mp4")],
            &[("content-type", "multipart/related; boundary=x")],
        ] {
            assert!(is(&[], more), "{more:?}");
        }
        assert!(is(std::slice::from_ref(&gzip), &[coded]));
        for more in [
            &[("etag", "\"2\"")][..],
            &[("content-range", "bytes 0-9/10")],
            &[("content-range", "bytes 4-9/10")],
            &[("content-length", "7")],
            &[("content-length", "6"), ("content-length", "7")],
            &[("content-type", "Multipart/ByteRanges; boundary=x")],
            &[coded],
        ] {
            assert!(!is(&[], more), "{more:?}");
        }
        assert!(is(std::slice::from_ref(&gzip), &[]));
        assert!(is(
            std::slice::from_ref(&gzip),
            &[("content-encoding", "GZIP")]
        ));
        assert!(!is(&[gzip], &[coded, coded]));
    }
}
