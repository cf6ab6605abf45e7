//! What the engine's requests took, for the app's own monitoring. Nothing is sent anywhere.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use route::{Network, Protocol};

use crate::report::Phases;

/// Requests that are kept; the oldest goes first.
const MAX_REQUESTS: usize = 1_024;
/// Requests of the same minute are compared with each other.
const BLOCK_NS: u64 = 60_000_000_000;
const HEADER: &str = "network,arm,protocol,block,group,first,start_ns,dns_ns,connect_ns,tls_ns,\
                      request_sent_ns,first_byte_ns,end_ns,request_bytes,response_bytes,result,error";

/// The last requests, at most 1,024.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// By their end.
    pub requests: VecDeque<Measured>,
    /// Earlier ones, which are no longer there.
    pub dropped: u64,
}

/// A request that has ended.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Host and port.
    pub origin: String,
    /// The app's label.
    pub label: Option<String>,
    /// The default network when it ended.
    pub network: Option<Network>,
    /// Whether HTTP/3 was switched on for this installation.
    pub h3_on: bool,
    /// What it was sent over, if it was.
    pub protocol: Option<Protocol>,
    /// The code of [`Why`](crate::Why).
    pub why: &'static str,
    /// Whether it waited for a connection to be opened.
    pub first: bool,
    /// How often it was sent.
    pub attempts: u32,
    /// In ns after the engine began.
    pub start_ns: u64,
    /// When what happened.
    pub phases: Phases,
    /// From when it was asked for until its end, in ns.
    pub end_ns: u64,
    /// Bytes of the body sent, if known.
    pub request_bytes: u64,
    /// Bytes of the body received.
    pub response_bytes: u64,
    /// Why there is no response.
    pub error: Option<String>,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// HTTP/3, HTTP/2 and HTTP/1.1: which is faster?
    Protocols,
    /// Installations with HTTP/3 on and those with HTTP/3 off: was the roll-out a gain?
    Rollout,
}

/// Metrics that the engine's thread adds to and any thread reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMetrics(Arc<Mutex<Metrics>>);

impl SharedMetrics {
    pub(crate) fn add(&self, measured: Measured) {
        let mut metrics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.add(measured);
    }

    pub(crate) fn get(&self) -> Metrics {
        let metrics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.clone()
    }
}

impl Metrics {
    fn add(&mut self, measured: Measured) {
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.pop_front();
            self.dropped += 1;
        }
        self.requests.push_back(measured);
    }

    /// Returns a row per request as CSV (RFC 4180), with the columns that `commute import` reads:
    /// rows of many installations can be put together and compared by `commute report`. Names of
    /// origins and networks are left out.
    pub fn csv(&self, arms: Arms) -> String {
        let mut out = format!("{HEADER}\r\n");
        for request in &self.requests {
            let arm = match arms {
                Arms::Rollout if request.h3_on => Some(("HTTP/3 on", "auto")),
                Arms::Rollout => Some(("HTTP/3 off", "auto")),
                Arms::Protocols => request.protocol.map(|protocol| match protocol {
                    Protocol::H1 => ("HTTP/1.1", "h1"),
                    Protocol::H2 => ("HTTP/2", "h2"),
                    Protocol::H3 => ("HTTP/3", "h3"),
                }),
            };
            if let Some((arm, protocol)) = arm {
                request.write(arm, protocol, &mut out);
            }
        }
        out
    }

    /// Returns a line for each origin and protocol: requests, those sent again, over TCP because
    /// HTTP/3 failed or UDP is silent, and in vain; medians of first and later requests in ms.
    pub fn summary(&self) -> String {
        let mut keys: Vec<_> = self.requests.iter().map(Measured::key).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut out = String::new();
        for key in keys {
            let of: Vec<_> = self.requests.iter().filter(|r| r.key() == key).collect();
            let count = |holds: fn(&Measured) -> bool| of.iter().filter(|r| holds(r)).count();
            let median = |first: bool| {
                let ok = of.iter().filter(|r| r.error.is_none() && r.first == first);
                let mut times: Vec<_> = ok.map(|r| r.end_ns).collect();
                times.sort_unstable();
                let median = times.get(times.len() / 2);
                median.map_or("-".to_owned(), |ns| format!("{:.1}", *ns as f64 / 1e6))
            };
            let (origin, protocol) = key;
            writeln!(
                out,
                "{origin} by {}: {} requests, {} sent again, {} fell back, {} failed; \
                 median ms first {}, later {}",
                protocol.map_or("none".to_owned(), |protocol| format!("{protocol:?}")),
                of.len(),
                count(|r| r.attempts > 1),
                count(|r| ["broken", "udp_silent", "hedge"].contains(&r.why)),
                count(|r| r.error.is_some()),
                median(true),
                median(false),
            )
            .expect("a string takes it");
        }
        out
    }
}

impl Measured {
    fn key(&self) -> (&str, Option<Protocol>) {
        (&self.origin, self.protocol)
    }

    fn write(&self, arm: &str, protocol: &str, out: &mut String) {
        let network = match self.network {
            None => "offline",
            Some(network) if network.metered => "metered",
            Some(_) => "unmetered",
        };
        let label = quote(self.label.as_deref().unwrap_or("requests"));
        let (block, start_ns) = (self.start_ns / BLOCK_NS, self.start_ns % BLOCK_NS);
        let ns = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        let Phases {
            dns_ns,
            connect_ns,
            tls_ns,
            request_sent_ns,
            first_byte_ns,
        } = self.phases;
        let phases = [dns_ns, connect_ns, tls_ns, request_sent_ns, first_byte_ns].map(ns);
        let (result, error) = match &self.error {
            None => ("ok", String::new()),
            Some(error) => ("error", quote(error)),
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
