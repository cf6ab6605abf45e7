//! Metrics of [`client`]'s requests for OpenTelemetry, by its semantic conventions for HTTP clients.
//!
//! ```no_run
//! # use std::time::Duration;
//! # async fn export(engine: client::Engine) {
//! // The app has set its provider: `opentelemetry::global::set_meter_provider`.
//! let mut recorder = client_otel::Recorder::new(&opentelemetry::global::meter("commute"));
//! let mut pause = tokio::time::interval(Duration::from_secs(5));
//! loop {
//!     pause.tick().await;
//!     recorder.record(&engine.metrics());
//! }
//! # }
//! ```
//!
//! The engine keeps its last 1,024 requests. [`Recorder::record`] reads those that ended since its last call, so an app
//! calls it often enough that no more than 1,024 end in between. Nothing runs while a request is under way, and the
//! engine has no dependency on OpenTelemetry.
//!
//! | instrument | kind, unit | what it counts | attributes |
//! |---|---|---|---|
//! | `http.client.request.duration` | histogram, `s` | requests, from the call until the end of the body | all but `commute.reason` |
//! | `commute.client.routes` | counter, `{request}` | requests by the reason for their route | `commute.reason`, `network.protocol.version`, server |
//! | `commute.client.resends` | counter, `{send}` | copies of requests beyond the first | `network.protocol.version`, server |
//! | `commute.client.missed` | counter, `{request}` | requests that were gone before they could be recorded | none |
//!
//! | attribute | value |
//! |---|---|
//! | `http.request.method` | a method of RFC 9110 or `PATCH`; `_OTHER` for any other |
//! | `http.response.status_code` | the status, if the head of the response came |
//! | `network.protocol.version` | `1.1`, `2` or `3`, if the request was sent |
//! | `server.address`, `server.port` | host and port of the URL ("server" above) |
//! | `error.type` | why the request failed, see [`error_type`]; missing if it did not |
//! | `commute.reason` | the code of [`client::Reason`] |

#![forbid(unsafe_code)]

use client::{Error, Fault, Metrics, Outcome, Protocol, RequestMeasurement};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

/// Bounds in seconds that the conventions advise for durations of HTTP requests.
const BOUNDS_S: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];
/// The methods that the conventions know: those of RFC 9110, and PATCH (RFC 5789).
const METHODS: [&str; 9] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];

/// Records the requests of one engine.
#[derive(Debug)]
pub struct Recorder {
    duration: Histogram<f64>,
    routes: Counter<u64>,
    resends: Counter<u64>,
    missed: Counter<u64>,
    /// Requests that had ended by the last call.
    seen: u64,
}

impl Recorder {
    /// Creates the instruments.
    pub fn new(meter: &Meter) -> Self {
        Self {
            duration: meter
                .f64_histogram("http.client.request.duration")
                .with_description("Duration of HTTP client requests.")
                .with_unit("s")
                .with_boundaries(BOUNDS_S.to_vec())
                .build(),
            routes: meter
                .u64_counter("commute.client.routes")
                .with_description("Requests by the reason for their route.")
                .with_unit("{request}")
                .build(),
            resends: meter
                .u64_counter("commute.client.resends")
                .with_description("Copies of requests beyond the first.")
                .with_unit("{send}")
                .build(),
            missed: meter
                .u64_counter("commute.client.missed")
                .with_description("Requests that were gone before they could be recorded.")
                .with_unit("{request}")
                .build(),
            seen: 0,
        }
    }

    /// Records the requests that ended since the last call. The metrics must be those of the same engine each time.
    pub fn record(&mut self, metrics: &Metrics) {
        let missed = metrics.dropped.saturating_sub(self.seen);
        if missed > 0 {
            self.missed.add(missed, &[]);
        }
        let known = self.seen.saturating_sub(metrics.dropped);
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        for request in metrics.requests.iter().skip(known) {
            self.record_one(request);
        }
        self.seen = metrics.dropped + metrics.requests.len() as u64;
    }

    fn record_one(&self, request: &RequestMeasurement) {
        let mut attributes = route_attributes(request);
        let reason = KeyValue::new("commute.reason", request.reason);
        let with_reason: Vec<_> = attributes.iter().cloned().chain([reason]).collect();
        self.routes.add(1, &with_reason);
        let resends = request.attempts.saturating_sub(1);
        if resends > 0 {
            self.resends.add(resends.into(), &attributes);
        }
        attributes.push(KeyValue::new("http.request.method", method(request)));
        if let Some(status) = request.status {
            let status = i64::from(status.as_u16());
            attributes.push(KeyValue::new("http.response.status_code", status));
        }
        if let Some(error) = error_type(request) {
            attributes.push(KeyValue::new("error.type", error));
        }
        self.duration
            .record(request.end_ns as f64 / 1e9, &attributes);
    }
}

/// Returns the value of `error.type`, one of a few: `cancelled`, `timeout`, a fault's name such as `connect`, or a
/// status of 400 and above. Nothing if the request ended well.
pub fn error_type(request: &RequestMeasurement) -> Option<String> {
    let word = match &request.outcome {
        Outcome::Done => {
            let status = request.status.map(|status| status.as_u16());
            return status
                .filter(|status| *status >= 400)
                .map(|status| status.to_string());
        }
        Outcome::Cancelled => "cancelled",
        Outcome::TimedOut => "timeout",
        Outcome::Failed(error) => match error {
            Error::Failed { fault, .. } => fault_name(*fault),
            Error::TimedOut(_) => "timeout",
            Error::Invalid(_) => "invalid_request",
            Error::FallBack(_) => "fall_back",
            Error::Unfinished => "unfinished_body",
            Error::Ended => "engine_ended",
            // The conventions' value for what has no name.
            _ => "_OTHER",
        },
    };
    Some(word.to_owned())
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Name => "name",
        Fault::Connect => "connect",
        Fault::Handshake => "handshake",
        Fault::Certificate => "certificate",
        Fault::Reset => "reset",
        Fault::Protocol => "protocol",
        Fault::Malformed => "malformed",
        Fault::HeadTooLarge => "head_too_large",
        Fault::Http11Required => "http_1_1_required",
        Fault::Offline => "offline",
        Fault::TooMany => "too_many",
    }
}

fn method(request: &RequestMeasurement) -> &'static str {
    let name = request.method.as_str();
    let known = METHODS.into_iter().find(|known| *known == name);
    known.unwrap_or("_OTHER")
}

/// Returns the attributes of the server and the protocol.
fn route_attributes(request: &RequestMeasurement) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    if let Some((host, port)) = request.origin.rsplit_once(':') {
        attributes.push(KeyValue::new("server.address", host.to_owned()));
        if let Ok(port) = port.parse::<i64>() {
            attributes.push(KeyValue::new("server.port", port));
        }
    }
    if let Some(protocol) = request.protocol {
        let version = match protocol {
            Protocol::H1 => "1.1",
            Protocol::H2 => "2",
            Protocol::H3 => "3",
        };
        attributes.push(KeyValue::new("network.protocol.version", version));
    }
    attributes
}
