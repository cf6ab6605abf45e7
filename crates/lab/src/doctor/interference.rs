//! What blocks side by side do to each other.

use std::thread;

use driver::protocol::{Protocol, Reconnect};
use link::{PathSpec, QueueSpec, RateSpec};
use record::{Call, Check, State};

use super::{Stack, Surgery, check, median, network, not_made};
use crate::cell::Trouble;
use crate::plan::workload::Workload;
use crate::study::{DEFAULT_BODY, Step};

/// The median warm call alone, and beside `jobs` - 1 others that do the same.
pub(super) fn shift(surgery: &mut Surgery<'_>, jobs: usize) -> Vec<Check> {
    let name = format!("--jobs {jobs}: shift of the median warm call");
    let alone = match warm_ms(surgery) {
        Ok(ms) => ms,
        Err(e) => return vec![not_made(&name, &e)],
    };
    let lab = surgery.lab;
    let together: Result<Vec<f64>, String> = thread::scope(|scope| {
        let neighbours: Vec<_> = (1..jobs)
            .map(|_| {
                scope.spawn(move || {
                    let mut own = Surgery::open(lab, None).map_err(|e| e.to_string())?;
                    warm_ms(&mut own).map_err(|e| e.to_string())
                })
            })
            .collect();
        let mine = warm_ms(surgery).map_err(|e| e.to_string());
        neighbours
            .into_iter()
            .map(|n| {
                n.join()
                    .unwrap_or_else(|_| Err("a neighbour panicked".to_owned()))
            })
            .chain([mine])
            .collect()
    });
    match together {
        Err(e) => vec![not_made(&name, &e)],
        Ok(medians) => {
            let worst = medians
                .into_iter()
                .fold(0.0, |w: f64, ms| w.max((ms - alone).abs()));
            vec![check(name, 0.0, worst, MAX_SHIFT_MS, "ms")]
        }
    }
}

fn warm_ms(surgery: &mut Surgery<'_>) -> Result<f64, Trouble> {
    let path = PathSpec {
        delay_ns: 25_000_000,
        rate: RateSpec::constant(10_000_000),
        queue: QueueSpec {
            time_ns: Some(100_000_000),
            ..QueueSpec::default()
        },
        ..PathSpec::default()
    };
    let call = Step::Call {
        group: "echo".into(),
        body: DEFAULT_BODY.into(),
        times: CALLS,
    };
    let workload = Workload::expand(&[Step::Reconnect(Reconnect::Cold), call]);
    let stack = Stack {
        name: "hyper",
        protocol: Protocol::H2,
    };
    let measured = surgery.measure(&network("shared", path), &stack, &workload)?;
    let warm = |c: &&Call| c.state == State::Warm;
    Ok(median(
        measured
            .calls
            .iter()
            .filter(warm)
            .map(|c| c.end_ns as f64 / 1e6)
            .collect(),
    ))
}

const CALLS: u32 = 60;
/// DESIGN 8.
const MAX_SHIFT_MS: f64 = 0.25;
