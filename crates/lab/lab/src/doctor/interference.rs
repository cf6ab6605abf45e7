//! Measures how much parallel blocks disturb each other.

use std::thread;

use driver::protocol::{Protocol, Reconnect};
use link::{PathSpec, QueueSpec, RateSpec};
use record::{Call, Check, State};
use study::plan::Workload;
use study::{DEFAULT_BODY, Step};

use super::examination::{Examination, KnownStack, check, impossible, median};
use crate::cell::error::CellError;
use crate::network;

/// Requests per measurement.
const REQUESTS: u32 = 60;
/// A tenth of the smallest default margin of a verdict, with some room.
const MAX_SHIFT_MS: f64 = 0.25;

/// Compares the median warm request of a cell that runs alone with those of `jobs` cells that run
/// in parallel.
pub(super) fn shift(examination: &mut Examination<'_>, jobs: usize) -> Vec<Check> {
    let name = format!("--jobs {jobs}: shift of the median warm request");
    let alone = match warm_ms(examination) {
        Ok(ms) => ms,
        Err(e) => return vec![impossible(&name, &e)],
    };
    let lab = examination.lab;
    let together: Result<Vec<f64>, String> = thread::scope(|scope| {
        let others: Vec<_> = (1..jobs)
            .map(|_| {
                scope.spawn(move || {
                    let mut own = Examination::start(lab, None).map_err(|e| e.to_string())?;
                    warm_ms(&mut own).map_err(|e| e.to_string())
                })
            })
            .collect();
        let mine = warm_ms(examination).map_err(|e| e.to_string());
        others
            .into_iter()
            .map(|n| {
                n.join()
                    .unwrap_or_else(|_| Err("a parallel cell panicked".to_owned()))
            })
            .chain([mine])
            .collect()
    });
    match together {
        Err(e) => vec![impossible(&name, &e)],
        Ok(medians) => {
            let worst = medians
                .into_iter()
                .fold(0.0, |w: f64, ms| w.max((ms - alone).abs()));
            vec![check(name, 0.0, worst, MAX_SHIFT_MS, "ms")]
        }
    }
}

fn warm_ms(examination: &mut Examination<'_>) -> Result<f64, CellError> {
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
        times: REQUESTS,
    };
    let workload = Workload::expand(&[Step::Reconnect(Reconnect::Cold), call]);
    let stack = KnownStack {
        name: "hyper",
        protocol: Protocol::H2,
    };
    let measured = examination.measure(&network::symmetric("shared", path), &stack, &workload)?;
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
