//! One request, as a row of an import.

use record::{Arm, Call, CallResult, CellStatus, Exchange, Proof, State};
use serde::Deserialize;
use study::slug;

/// A cell's file is named by network, block and arm, in at most 128 bytes.
pub(super) const MAX_NAME_BYTES: usize = 56;
/// How long a request takes: from a loopback's to a large download's.
const PLAUSIBLE_NS: std::ops::RangeInclusive<u64> = 10_000..=3_600_000_000_000;
/// What an imported arm uses; `auto` if it chooses by itself.
pub const PROTOCOLS: [&str; 5] = ["h1", "h2", "h3", "grpc", "auto"];

/// One row of an import. The first five fields are required.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ImportedCall {
    /// Name of the network, e.g. `train to Leeds, operator A`.
    pub network: String,
    /// Name of the arm.
    pub arm: String,
    /// `h1`, `h2`, `h3`, `grpc`, or `auto` for an arm that chooses by itself.
    pub protocol: String,
    /// The block; requests measured back to back under the same circumstances share one.
    pub block: u32,
    /// How long the request took; if it timed out, its time limit.
    pub end_ns: u64,
    /// In CSV of commute's own: whether its cell is `counted`; if absent or empty, it is.
    pub cell_status: Option<String>,
    /// Its group in the report; `requests` if absent.
    pub group: Option<String>,
    /// Whether it was the first request on its connection; if absent, whether `tls_ns` is present.
    pub first: Option<bool>,
    /// The state of its connection; if absent, cold or warm by `first`.
    pub state: Option<State>,
    /// Start, in ns after the block's first request.
    pub start_ns: Option<u64>,
    /// Name resolved, in ns after the start, as are all that follow.
    pub dns_ns: Option<u64>,
    /// TCP connected.
    pub connect_ns: Option<u64>,
    /// TLS or QUIC handshake done.
    pub tls_ns: Option<u64>,
    /// Request handed to the transport.
    pub request_sent_ns: Option<u64>,
    /// First byte of the response.
    pub first_byte_ns: Option<u64>,
    /// Message created, for an exchange.
    pub created_ns: Option<u64>,
    /// Request encoded, for an exchange.
    pub encoded_ns: Option<u64>,
    /// Last byte of the response received, for an exchange.
    pub received_ns: Option<u64>,
    /// How long the server took to decode, for an exchange.
    pub server_decode_ns: Option<u64>,
    /// How long the server took to encode, for an exchange.
    pub server_encode_ns: Option<u64>,
    /// Body bytes sent.
    pub request_bytes: Option<u64>,
    /// Body bytes received.
    pub response_bytes: Option<u64>,
    /// `ok`, `timed_out` or `error`; if absent, `ok` unless `error` is set.
    pub result: Option<String>,
    /// The error, as `kind: detail`.
    pub error: Option<String>,
    /// What the times of the load tester that wrote it leave open.
    #[serde(skip)]
    pub caveat: Option<&'static str>,
}

impl ImportedCall {
    /// Reports whether its cell counts: reports count one attempt of each cell.
    pub fn is_counted(&self) -> bool {
        let status = self.cell_status.as_deref().unwrap_or_default();
        status.is_empty() || status == CellStatus::Counted.name()
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !PROTOCOLS.contains(&self.protocol.as_str()) {
            let (is, known) = (&self.protocol, PROTOCOLS.join(", "));
            return Err(format!("protocol `{is}` is not one of {known}"));
        }
        for (what, name) in [("arm", &self.arm), ("network", &self.network)] {
            let length = slug(name).len();
            if length == 0 {
                return Err(format!("the {what} needs a name with letters or digits"));
            }
            if length > MAX_NAME_BYTES {
                return Err(format!(
                    "the {what}'s name is too long for the name of a file: {length} letters, digits and \
                     dashes; at most {MAX_NAME_BYTES}"
                ));
            }
        }
        let phases = [
            ("dns_ns", self.dns_ns),
            ("connect_ns", self.connect_ns),
            ("tls_ns", self.tls_ns),
            ("end_ns", Some(self.end_ns)),
        ];
        let early = [
            ("first_byte_ns", self.first_byte_ns),
            ("end_ns", Some(self.end_ns)),
        ];
        let is_ok =
            self.error.is_none() && matches!(self.result.as_deref(), None | Some("ok" | ""));
        if is_ok && !PLAUSIBLE_NS.contains(&self.end_ns) {
            return Err(format!(
                "end_ns = {} is {}: no request takes less than 10 µs or more than an hour. Times are from the \
                 request's start; a column in another unit must say so by its name, e.g. end_ms",
                self.end_ns,
                spoken(self.end_ns)
            ));
        }
        in_order(&phases)?;
        in_order(&early)?;
        match self.result.as_deref() {
            None | Some("ok" | "timed_out" | "error" | "") => Ok(()),
            Some(other) => Err(format!(
                "result `{other}` is not one of ok, timed_out, error"
            )),
        }
    }

    pub(super) fn as_arm(&self) -> Arm {
        Arm {
            name: self.arm.clone(),
            stack: "elsewhere".to_owned(),
            protocol: self.protocol.clone(),
            caveat: Some("measured elsewhere, without a server log and without an audit".into()),
            ..Arm::default()
        }
    }

    /// Adds its caveat to those of its arm.
    pub(super) fn add_caveat(&self, arm: &mut Arm) {
        let known = arm.caveat.get_or_insert_default();
        if let Some(caveat) = self.caveat
            && !known.contains(caveat)
        {
            *known = format!("{known}; {caveat}");
        }
    }

    /// Returns the phases of an exchange, if the row has any.
    fn exchange(&self) -> Option<Exchange> {
        let exchange = Exchange {
            created_ns: self.created_ns,
            encoded_ns: self.encoded_ns,
            received_ns: self.received_ns,
            server_decode_ns: self.server_decode_ns,
            server_encode_ns: self.server_encode_ns,
        };
        (exchange != Exchange::default()).then_some(exchange)
    }

    pub(super) fn as_call(&self, id: u32) -> Call {
        let first = self.first.unwrap_or(self.tls_ns.is_some());
        let fresh = if first {
            State::ColdConnection
        } else {
            State::Warm
        };
        let said = self.error.as_deref().unwrap_or_default();
        let (kind, detail) = said.split_once(": ").unwrap_or(("other", said));
        Call {
            id,
            group: self.group.clone().unwrap_or_else(|| "requests".to_owned()),
            connection: 0,
            first,
            state: self.state.unwrap_or(fresh),
            proof: Proof::Client,
            protocol: self.protocol.clone(),
            start_ns: self.start_ns.unwrap_or(0),
            dns_ns: self.dns_ns,
            connect_ns: self.connect_ns,
            tls_ns: self.tls_ns,
            request_sent_ns: self.request_sent_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns: self.end_ns,
            request_bytes: self.request_bytes.unwrap_or(0),
            response_bytes: self.response_bytes.unwrap_or(0),
            result: match self.result.as_deref() {
                Some("timed_out") => CallResult::TimedOut,
                Some("ok") => CallResult::Ok,
                Some("") | None if said.is_empty() => CallResult::Ok,
                _ => CallResult::Error {
                    kind: kind.to_owned(),
                    detail: detail.to_owned(),
                },
            },
            server_hits: 0,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: Default::default(),
            path: None,
            exchange: self.exchange(),
        }
    }
}

/// Formats a time in the unit in which people say it.
fn spoken(ns: u64) -> String {
    match ns {
        0..=999 => format!("{ns} ns"),
        1_000..=999_999 => format!("{} µs", ns / 1_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

fn in_order(phases: &[(&str, Option<u64>)]) -> Result<(), String> {
    let known: Vec<(&str, u64)> = phases
        .iter()
        .filter_map(|(n, t)| Some((*n, (*t)?)))
        .collect();
    match known.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        None => Ok(()),
        Some(pair) => Err(format!(
            "{} = {} is after {} = {}; all are ns from the request's start",
            pair[0].0, pair[0].1, pair[1].0, pair[1].1
        )),
    }
}
