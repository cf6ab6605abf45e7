//! Measurements of the engine's requests, for the app's own monitoring. Nothing is sent anywhere.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use route::{Network, NetworkKind, Protocol};

use crate::error::Error;
use crate::report::Phases;

/// Requests that are kept; the oldest goes first.
const MAX_REQUESTS: usize = 1_024;
/// Protocols are compared within a minute of one engine.
const MINUTE_NS: u64 = 60_000_000_000;
const HEADER: &str = "network,arm,protocol,block,group,first,start_ns,dns_ns,connect_ns,tls_ns,\
                      request_sent_ns,first_byte_ns,end_ns,request_bytes,response_bytes,result,error";

/// The last requests, at most 1,024.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// By their end.
    pub requests: VecDeque<RequestMeasurement>,
    /// Earlier ones, which are no longer there.
    pub dropped: u64,
}

/// A request that has ended.
#[derive(Clone, Debug)]
pub struct RequestMeasurement {
    /// Host and port.
    pub origin: String,
    /// The request's method.
    pub method: http::Method,
    /// The status of the response, if its head came.
    pub status: Option<http::StatusCode>,
    /// The app's label.
    pub label: Option<String>,
    /// The default network when it ended.
    pub network: Option<Network>,
    /// Whether HTTP/3 was switched on for this installation.
    pub h3_on: bool,
    /// The version of HTTP that it was sent over, if it was sent.
    pub protocol: Option<Protocol>,
    /// The code of [`Reason`](crate::Reason).
    pub reason: &'static str,
    /// Whether it waited for a connection to be opened.
    pub first: bool,
    /// How often it was sent.
    pub attempts: u32,
    /// In ns after the engine began.
    pub start_ns: u64,
    /// The hour in which it ended, since 1970, by the wall clock.
    pub hour: u32,
    /// The times of its phases.
    pub phases: Phases,
    /// From when it was asked for until its end, in ns.
    pub end_ns: u64,
    /// Bytes of the body sent, if known.
    pub request_bytes: u64,
    /// Bytes of the body received, by all connections that it came on.
    pub response_bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The whole response came.
    Done,
    /// The app dropped the request, or its response.
    Cancelled,
    /// Its time limit passed.
    TimedOut,
    /// There is no response, or not all of it.
    Failed(Error),
}

/// The groups of requests that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// HTTP/3, HTTP/2 and HTTP/1.1: which is faster?
    Protocols,
    /// Installations with HTTP/3 switched on and those with it switched off: was the roll-out a gain?
    Rollout,
}

/// Metrics that the engine's thread adds to and any thread reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMetrics(Arc<Mutex<Metrics>>);

impl SharedMetrics {
    pub(crate) fn add(&self, measured: RequestMeasurement) {
        let mut metrics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.add(measured);
    }

    pub(crate) fn get(&self) -> Metrics {
        let metrics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.clone()
    }
}

impl Metrics {
    fn add(&mut self, measured: RequestMeasurement) {
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.pop_front();
            self.dropped += 1;
        }
        self.requests.push_back(measured);
    }

    /// Returns a row per request as CSV (RFC 4180), with the columns that `commute import` reads. Rows of many
    /// installations can be put together and compared by `commute report`. Names of origins and networks are left out.
    /// A request that was cancelled took at least as long as it had, like one that timed out.
    pub fn csv(&self, arms: Arms) -> String {
        let mut out = format!("{HEADER}\r\n");
        for request in &self.requests {
            let arm = match arms {
                Arms::Rollout if request.h3_on => Some(("HTTP/3 allowed", "auto")),
                Arms::Rollout => Some(("TCP only", "auto")),
                Arms::Protocols => request.protocol.map(|protocol| match protocol {
                    Protocol::H1 => ("HTTP/1.1", "h1"),
                    Protocol::H2 => ("HTTP/2", "h2"),
                    Protocol::H3 => ("HTTP/3", "h3"),
                }),
            };
            // An installation is in one arm, so that arms of a roll-out have only the time in common.
            let block = match arms {
                Arms::Protocols => request.start_ns / MINUTE_NS,
                Arms::Rollout => request.hour.into(),
            };
            if let Some((arm, protocol)) = arm {
                request.write(arm, protocol, block, &mut out);
            }
        }
        out
    }

    /// Returns a line for each origin, kind of network and protocol. It counts the requests, and those that were sent
    /// again, were hedged because their connection fell silent, or went over TCP because HTTP/3 failed. It also counts
    /// those that timed out, were cancelled, or failed. Last come the medians in ms of first and later requests that
    /// were answered.
    pub fn summary(&self) -> String {
        let mut keys: Vec<_> = self.requests.iter().map(RequestMeasurement::key).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut out = String::new();
        for key in keys {
            let of: Vec<_> = self.requests.iter().filter(|r| r.key() == key).collect();
            let count =
                |holds: fn(&RequestMeasurement) -> bool| of.iter().filter(|r| holds(r)).count();
            let median = |first: bool| {
                let done =
                    |r: &&&RequestMeasurement| r.outcome == Outcome::Done && r.first == first;
                let ok = of.iter().filter(done);
                let mut times: Vec<_> = ok.map(|r| r.end_ns).collect();
                times.sort_unstable();
                let median = times.get(times.len() / 2);
                median.map_or("-".to_owned(), |ns| format!("{:.1}", *ns as f64 / 1e6))
            };
            let (origin, network, protocol) = key;
            writeln!(
                out,
                "{origin}, {network}, by {}: {} requests, {} sent again, {} hedged, {} fell back, \
                 {} timed out, {} cancelled, {} failed; median ms first {}, later {}",
                protocol.map_or("none".to_owned(), |protocol| format!("{protocol:?}")),
                of.len(),
                count(|r| r.attempts > 1),
                count(|r| r.reason == "hedge"),
                count(|r| ["broken", "udp_silent", "second_try"].contains(&r.reason)),
                count(|r| r.outcome == Outcome::TimedOut),
                count(|r| r.outcome == Outcome::Cancelled),
                count(|r| matches!(r.outcome, Outcome::Failed(_))),
                median(true),
                median(false),
            )
            .expect("a string takes it");
        }
        out
    }
}

impl Outcome {
    pub(crate) fn of(error: &Error) -> Self {
        match error {
            Error::TimedOut(_) => Self::TimedOut,
            error => Self::Failed(error.clone()),
        }
    }
}

impl RequestMeasurement {
    fn key(&self) -> (&str, &str, Option<Protocol>) {
        (&self.origin, self.kind_of_network(), self.protocol)
    }

    fn kind_of_network(&self) -> &'static str {
        let Some(network) = self.network else {
            return "offline";
        };
        match (network.kind, network.metered) {
            (NetworkKind::Wifi, _) => "Wi-Fi",
            (NetworkKind::Cellular, _) => "cellular",
            (NetworkKind::Ethernet, _) => "Ethernet",
            (NetworkKind::Other, true) => "metered",
            (NetworkKind::Other, false) => "unmetered",
        }
    }

    fn write(&self, arm: &str, protocol: &str, block: u64, out: &mut String) {
        let network = self.kind_of_network();
        let label = quote(self.label.as_deref().unwrap_or("requests"));
        let start_ns = self.start_ns % MINUTE_NS;
        let ns = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        let Phases {
            dns_ns,
            connect_ns,
            tls_ns,
            request_sent_ns,
            first_byte_ns,
        } = self.phases;
        let phases = [dns_ns, connect_ns, tls_ns, request_sent_ns, first_byte_ns].map(ns);
        let (result, error) = match &self.outcome {
            Outcome::Done => ("ok", String::new()),
            Outcome::Cancelled | Outcome::TimedOut => ("timed_out", String::new()),
            Outcome::Failed(error) => ("error", quote(&error.to_string())),
        };
        write!(
            out,
            "{network},{arm},{protocol},{block},{label},{},{start_ns},{},{},{},{},{result},{error}\r\n",
            self.first,
            phases.join(","),
            self.end_ns,
            self.request_bytes,
            self.response_bytes,
        )
        .expect("a string takes it");
    }
}

fn quote(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
