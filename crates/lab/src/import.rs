//! Converts requests measured elsewhere, e.g. on phones or in production, to records, so that they
//! get the same statistics and the same report. Pure.
//!
//! A row is one request, with the columns of `commute report --format csv`. No server of ours saw
//! it, so its proof is always the client alone.

use std::collections::{BTreeMap, BTreeSet};

use record::{
    Arm, Audit, Call, CallResult, Cell, Cost, Exchange, Group, Host, Network, Outcome, Planned,
    Proof, Run, Settings, Stack, State, Wire,
};
use serde::Deserialize;

use crate::slug::slug;

/// Below this size the time is the round trip's rather than the rate's.
const BULK_BYTES: u64 = 16 << 10;
/// A cell's file is named by network, block and arm, in at most 128 bytes.
const MAX_NAME_BYTES: usize = 56;
/// `auto`: of an arm that chooses by itself.
const PROTOCOLS: [&str; 5] = ["h1", "h2", "h3", "grpc", "auto"];

/// One row of an import. The first five fields are required.
#[derive(Clone, Debug, Deserialize)]
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
}

/// What all rows have in common.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Name of the study.
    pub study: String,
    /// The question, which becomes the report's title.
    pub question: String,
    /// The arm to compare with; the first if absent.
    pub baseline: Option<String>,
}

/// Why rows cannot be imported.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// There is no row.
    #[error("there is no request in it")]
    Empty,
    /// A row has a mistake.
    #[error("line {line}: {message}")]
    Row {
        /// The line, from 1, the header included.
        line: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// No row belongs to the baseline.
    #[error("--baseline {name}: no request belongs to this arm{hint}")]
    Baseline {
        /// The name asked for.
        name: String,
        /// The nearest name, if one is near.
        hint: String,
    },
}

/// Converts rows, each with its line number, to the head and the cells of a run.
pub fn import(
    rows: &[(usize, ImportedCall)],
    options: &ImportOptions,
) -> Result<(Run, Vec<Cell>), ImportError> {
    let mut cells: BTreeMap<(String, u32, String), Vec<Call>> = BTreeMap::new();
    let mut arms: Vec<Arm> = Vec::new();
    let mut networks: Vec<String> = Vec::new();
    for (line, row) in rows {
        let wrong = |message: String| ImportError::Row {
            line: *line,
            message,
        };
        row.check().map_err(wrong)?;
        match arms.iter().find(|arm| arm.name == row.arm) {
            Some(arm) if arm.protocol != row.protocol => {
                return Err(wrong(format!(
                    "arm {} uses {} here and {} before; give each protocol its own arm",
                    row.arm, row.protocol, arm.protocol
                )));
            }
            Some(_) => {}
            None => {
                distinct("arm", &row.arm, arms.iter().map(|arm| &arm.name)).map_err(wrong)?;
                arms.push(row.as_arm());
            }
        }
        if !networks.contains(&row.network) {
            distinct("network", &row.network, &networks).map_err(wrong)?;
            networks.push(row.network.clone());
        }
        let key = (row.network.clone(), row.block, row.arm.clone());
        let calls = cells.entry(key).or_default();
        calls.push(row.as_call(calls.len() as u32 + 1));
    }
    let baseline = match &options.baseline {
        None => arms.first().ok_or(ImportError::Empty)?.name.clone(),
        Some(name) if arms.iter().any(|arm| arm.name == *name) => name.clone(),
        Some(name) => {
            return Err(ImportError::Baseline {
                name: name.clone(),
                hint: config::did_you_mean(name, arms.iter().map(|arm| arm.name.as_str())),
            });
        }
    };
    let blocks: BTreeSet<u32> = cells.keys().map(|(_, block, _)| *block).collect();
    let all = || cells.values().flatten();
    let timeout_ns = all().map(|call| call.end_ns).max().unwrap_or(1).max(1);
    let groups = groups(all());
    let cells: Vec<Cell> = cells.into_iter().map(cell).collect();
    let run = Run {
        format: record::FORMAT,
        commute: env!("CARGO_PKG_VERSION").to_owned(),
        study: options.study.clone(),
        question: options.question.clone(),
        seed: 0,
        blocks: blocks.len() as u32,
        baseline,
        margin_ns: None,
        tail_percent: None,
        timeout_ns,
        arms,
        networks: networks.into_iter().map(network).collect(),
        groups,
        calls: Vec::new(),
        plan: cells.iter().map(planned).collect(),
        settings: Settings::default(),
        host: Host::default(),
        self_test: Vec::new(),
        started_unix_ns: 0,
    };
    Ok((run, cells))
}

impl ImportedCall {
    fn check(&self) -> Result<(), String> {
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
        in_order(&phases)?;
        in_order(&early)?;
        match self.result.as_deref() {
            None | Some("ok" | "timed_out" | "error" | "") => Ok(()),
            Some(other) => Err(format!(
                "result `{other}` is not one of ok, timed_out, error"
            )),
        }
    }

    fn as_arm(&self) -> Arm {
        Arm {
            name: self.arm.clone(),
            stack: "elsewhere".to_owned(),
            protocol: self.protocol.clone(),
            caveat: Some("measured elsewhere, without a server log and without an audit".into()),
            ..Arm::default()
        }
    }

    /// The phases of an exchange, if the row has any.
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

    fn as_call(&self, id: u32) -> Call {
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
            exchange: self.exchange(),
        }
    }
}

/// Cells are files named by the slugs of network and arm, so two names must not share one.
fn distinct<'a>(
    what: &str,
    name: &str,
    others: impl IntoIterator<Item = &'a String>,
) -> Result<(), String> {
    let mut others = others.into_iter();
    match others.find(|other| slug(other) == slug(name)) {
        None => Ok(()),
        Some(other) => Err(format!(
            "{what} `{name}` has the same letters and digits as `{other}`; rename one of them"
        )),
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

/// A group is bulk when all its responses have the same size, and that is a large one.
fn groups<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<Group> {
    let mut sizes: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for call in calls.filter(|call| call.result == CallResult::Ok) {
        sizes
            .entry(&call.group)
            .or_default()
            .insert(call.response_bytes);
    }
    let group = |(name, sizes): (&str, BTreeSet<u64>)| {
        let one = (sizes.len() == 1).then(|| sizes.first().copied()).flatten();
        let bulk = one.filter(|bytes| *bytes >= BULK_BYTES);
        Group {
            name: name.to_owned(),
            about: "measured elsewhere".to_owned(),
            bulk: bulk.is_some(),
            response_bytes: bulk.unwrap_or(0),
            load: None,
        }
    };
    sizes.into_iter().map(group).collect()
}

fn cell(((network, block, arm), calls): ((String, u32, String), Vec<Call>)) -> Cell {
    let last_ns = calls
        .iter()
        .map(|call| call.start_ns.saturating_add(call.end_ns));
    Cell {
        format: record::FORMAT,
        id: format!("{}_{block:03}_{}", slug(&network), slug(&arm)),
        network,
        block,
        arm,
        attempt: 1,
        invocation: 1,
        outcome: Outcome::Clean,
        took_ns: last_ns.max().unwrap_or(0),
        calls,
        loads: Vec::new(),
        wire: Wire::default(),
        cost: Cost::default(),
        audit: Audit::default(),
        connections: Vec::new(),
        stack: Stack {
            name: "elsewhere".to_owned(),
            clock: "own".to_owned(),
            ..Stack::default()
        },
        relay: None,
        started_ns: 0,
    }
}

fn planned(cell: &Cell) -> Planned {
    Planned {
        id: cell.id.clone(),
        network: cell.network.clone(),
        block: cell.block,
        arm: cell.arm.clone(),
        position: 0,
    }
}

fn network(name: String) -> Network {
    Network {
        base: None,
        levels: Vec::new(),
        name,
        numbers: "measured elsewhere".to_owned(),
        rtt_ns: 0,
        down_bps: None,
        up_bps: None,
        toml: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(usize, ImportedCall)> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        (1..)
            .zip(lines.map(|line| serde_json::from_str(line).unwrap()))
            .collect()
    }

    fn options() -> ImportOptions {
        ImportOptions {
            study: "field".into(),
            question: "?".into(),
            baseline: None,
        }
    }

    const TWO: &str = r#"
        {"network":"train","arm":"ios h2","protocol":"h2","block":0,"tls_ns":90,"end_ns":100}
        {"network":"train","arm":"ios h3","protocol":"h3","block":0,"end_ns":70,"result":"timed_out"}
    "#;

    #[test]
    fn rows_become_cells_with_client_proof() {
        let (run, cells) = import(&rows(TWO), &options()).unwrap();
        assert_eq!(
            (run.arms.len(), run.baseline.as_str(), run.blocks),
            (2, "ios h2", 1)
        );
        assert_eq!(cells.len(), 2);
        let call = &cells[0].calls[0];
        assert_eq!(
            (call.proof, call.first, call.state),
            (Proof::Client, true, State::ColdConnection)
        );
        assert_eq!(cells[1].calls[0].result, CallResult::TimedOut);
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        let wrong = |instead: &str| {
            let text = TWO.replacen(r#""tls_ns":90"#, instead, 1);
            import(&rows(&text), &options()).unwrap_err().to_string()
        };
        assert_eq!(
            wrong(r#""tls_ns":101"#),
            "line 1: tls_ns = 101 is after end_ns = 100; all are ns from the request's start"
        );
        assert!(wrong(r#""result":"fine""#).contains("line 1: result `fine`"));
        assert_eq!(import(&[], &options()), Err(ImportError::Empty));
        let mut other = options();
        other.baseline = Some("ios h4".into());
        let refused = import(&rows(TWO), &other).unwrap_err().to_string();
        assert!(refused.contains("did you mean `ios h2`"), "{refused}");
    }

    #[test]
    fn names_differ_in_letters_or_digits() {
        for (from, to, what) in [
            ("ios h3", "iOS-H2", "arm `iOS-H2`"),
            (
                "train\",\"arm\":\"ios h3",
                "Train!\",\"arm\":\"ios h3",
                "network `Train!`",
            ),
        ] {
            let text = TWO.replace(from, to);
            let refused = import(&rows(&text), &options()).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("line 2: {what} has the same")),
                "{refused}"
            );
        }
    }

    #[test]
    fn names_fit_into_names_of_files() {
        let with_arm = |arm: &str| {
            let text = TWO.replace("ios h3", arm);
            import(&rows(&text), &options()).map_err(|error| error.to_string())
        };
        let longest = "a".repeat(MAX_NAME_BYTES);
        let (run, cells) = with_arm(&longest).unwrap();
        record::RunData::new(run, cells).unwrap();
        let refused = with_arm(&(longest + "a")).unwrap_err();
        assert!(
            refused.contains("line 2: the arm's name is too long"),
            "{refused}"
        );
        assert!(with_arm("-").unwrap_err().contains("the arm needs a name"));
    }

    #[test]
    fn an_arm_uses_one_protocol() {
        let text = TWO.replace("ios h3", "ios h2");
        let refused = import(&rows(&text), &options()).unwrap_err().to_string();
        assert!(
            refused.starts_with("line 2: arm ios h2 uses h3"),
            "{refused}"
        );
    }
}
