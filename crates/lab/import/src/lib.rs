//! Converts requests measured elsewhere, e.g. on phones or in production, to records, so that they
//! get the same statistics and the same report. Pure.
//!
//! A row is one request, with the columns of `commute report --format csv`. No server of ours saw
//! it, so its proof is always the client alone. The output of load testers becomes such rows.
//!
//! `commute import` reads the files, calls [`import`] and writes what it returns.

#![forbid(unsafe_code)]

mod row;
mod tool;
mod unit;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use record::{
    Arm, Audit, Call, CallResult, Cell, Cost, Group, Host, Network, Outcome, Planned, Run,
    Settings, Stack, Wire,
};
use study::slug;

pub use row::{ImportedCall, PROTOCOLS};
pub use tool::{Format, Labels};
pub use unit::whole_ns;

/// Below this size the time is the round trip's rather than the rate's.
const BULK_BYTES: u64 = 16 << 10;

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
    #[error("{place}: {message}")]
    Row {
        /// Where, e.g. `field.csv: line 2`.
        place: String,
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

/// Converts rows, each with the place that it is from, to the head and the cells of a run.
pub fn import<P: fmt::Display>(
    rows: &[(P, ImportedCall)],
    options: &ImportOptions,
) -> Result<(Run, Vec<Cell>), ImportError> {
    let mut cells: BTreeMap<(String, u32, String), Vec<Call>> = BTreeMap::new();
    let mut arms: Vec<Arm> = Vec::new();
    let mut networks: Vec<String> = Vec::new();
    for (place, row) in rows {
        let wrong = |message: String| ImportError::Row {
            place: place.to_string(),
            message,
        };
        row.check().map_err(wrong)?;
        match arms.iter_mut().find(|arm| arm.name == row.arm) {
            Some(arm) if arm.protocol != row.protocol => {
                return Err(wrong(format!(
                    "arm {} uses {} here and {} before; give each protocol its own arm",
                    row.arm, row.protocol, arm.protocol
                )));
            }
            Some(arm) => row.add_caveat(arm),
            None => {
                distinct("arm", &row.arm, arms.iter().map(|arm| &arm.name)).map_err(wrong)?;
                let mut arm = row.as_arm();
                row.add_caveat(&mut arm);
                arms.push(arm);
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
        min_clean_percent: None,
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

/// Checks that a name has a slug of its own. Cells are files named by the slugs of network and arm,
/// so two names must not share one.
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

/// Returns the groups of calls. A group is bulk if all its successful responses have the same size,
/// and that is at least `BULK_BYTES`.
fn groups<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<Group> {
    let mut sizes: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for call in calls {
        let of_group = sizes.entry(&call.group).or_default();
        if call.result == CallResult::Ok {
            of_group.insert(call.response_bytes);
        }
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
    let last_ns = calls.iter().map(record::Call::ended_ns);
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
        machine: None,
        moves: Vec::new(),
        radio: Vec::new(),
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
        basis: None,
        rtt_ns: 0,
        down_bps: None,
        up_bps: None,
        toml: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use record::{Proof, State};

    use super::row::MAX_NAME_BYTES;
    use super::*;

    fn rows(text: &str) -> Vec<(String, ImportedCall)> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let rows = lines.map(|line| serde_json::from_str(line).unwrap());
        (1..).map(|n| format!("line {n}")).zip(rows).collect()
    }

    fn options() -> ImportOptions {
        ImportOptions {
            study: "field".into(),
            question: "?".into(),
            baseline: None,
        }
    }

    const TWO: &str = r#"
        {"network":"train","arm":"ios h2","protocol":"h2","block":0,"tls_ns":90000000,"end_ns":100000000}
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
            let text = TWO.replacen(r#""tls_ns":90000000"#, instead, 1);
            import(&rows(&text), &options()).unwrap_err().to_string()
        };
        assert_eq!(
            wrong(r#""tls_ns":100000001"#),
            "line 1: tls_ns = 100000001 is after end_ns = 100000000; all are ns from the request's start"
        );
        assert!(wrong(r#""result":"fine""#).contains("line 1: result `fine`"));
        assert_eq!(import(&rows(""), &options()), Err(ImportError::Empty));
        let mut other = options();
        other.baseline = Some("ios h4".into());
        let refused = import(&rows(TWO), &other).unwrap_err().to_string();
        assert!(refused.contains("did you mean `ios h2`"), "{refused}");
    }

    #[test]
    fn groups_are_those_of_failed_requests_too() {
        let text = TWO.replace("\"end_ns\":70", "\"end_ns\":70,\"group\":\"lost\"");
        let (run, cells) = import(&rows(&text), &options()).unwrap();
        let names: Vec<&str> = run.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["lost", "requests"]);
        record::RunData::new(run, cells).unwrap();
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
