//! Regret: what adaptive routing cost. It is the time of an adaptive arm minus that of the better of the arms it
//! chooses between, by request number.
//!
//! The better arm, the oracle, has the lower median over the *other* blocks. The block's own minimum would be an oracle
//! that knows its own random draws.

use std::collections::BTreeMap;

use record::{CallResult, CompactCall, CompactCell, Outcome};
use stats::{Level, Span, estimate_by_order, median};

use crate::figures::cells::CellIndex;
use crate::records::Records;

/// Ranges of requests, from the first on.
const RANGES: [(usize, usize); 5] = [(1, 1), (2, 2), (3, 5), (6, 20), (21, usize::MAX)];
/// Regret up to this is none: as much time, or as much of the oracle's.
const MARGIN_NS: f64 = 5e6;
const MARGIN_SHARE: f64 = 0.05;

/// The regret of an arm on one network, over some requests of one group or all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Regret {
    /// The network.
    pub network: String,
    /// Which requests, e.g. `requests 6 to 20`.
    pub requests: String,
    /// Median over blocks of the oracle's mean time, in ns.
    pub oracle_ns: f64,
    /// Median over blocks of the regret, in ns; the ends of its interval, and its coverage.
    pub regret_ns: f64,
    /// Lower end, in ns.
    pub low_ns: f64,
    /// Upper end, in ns.
    pub high_ns: f64,
    /// Probability that the interval contains the true median.
    pub coverage: f64,
    /// Blocks behind it.
    pub blocks: usize,
    /// How often each oracle arm was the better one, in the order given.
    pub oracles: Vec<usize>,
}

impl Regret {
    /// Returns `met` if the interval ends at or below max(5 ms, 5 % of the oracle), and `missed` if it begins above
    /// that. Returns `cannot tell` otherwise, or if the interval covers less than 95 %.
    pub fn verdict(&self) -> &'static str {
        let margin_ns = MARGIN_NS.max(MARGIN_SHARE * self.oracle_ns);
        match () {
            () if self.coverage < Level::NINETY_FIVE.coverage() - 1e-9 => "cannot tell",
            () if self.high_ns <= margin_ns => "met",
            () if self.low_ns > margin_ns => "missed",
            () => "cannot tell",
        }
    }
}

/// Returns the regret of `arm` against the better of `oracles` on every network.
///
/// Small requests are counted in the order in which they began; a group of bulk requests is a row of
/// its own. A block counts if all its cells were measured and all their requests ended well.
pub fn regret(data: &impl Records, arm: &str, oracles: &[&str]) -> Vec<Regret> {
    let data = &*data.compact();
    let index = CellIndex::new(data);
    let bulk: Vec<&str> = data
        .run()
        .groups
        .iter()
        .filter(|g| g.bulk)
        .map(|g| g.name.as_str())
        .collect();
    let small = |call: CompactCall<'_>| !bulk.contains(&call.group());
    let mut rows = Vec::new();
    for network in &data.run().networks {
        let network = network.name.as_str();
        let mut add = |requests: String, mean: &dyn Fn(&CompactCell) -> Option<f64>| {
            let values = |arm: &str| -> BTreeMap<u32, f64> {
                let cells = index.first(network, arm);
                cells
                    .into_iter()
                    .filter_map(|(block, cell)| Some((block, mean(cell)?)))
                    .collect()
            };
            let theirs: Vec<_> = oracles.iter().map(|oracle| values(oracle)).collect();
            rows.extend(row(network, requests, &values(arm), &theirs));
        };
        for (from, to) in RANGES {
            let requests = match (from, to) {
                (from, usize::MAX) => format!("requests from {from} on"),
                (from, to) if from == to => format!("request {from}"),
                (from, to) => format!("requests {from} to {to}"),
            };
            add(requests, &|cell| {
                let mut calls: Vec<CompactCall<'_>> =
                    cell.calls.iter().filter(|call| small(*call)).collect();
                calls.sort_by_key(|call| call.start_ns());
                mean_ns(cell, calls.get(from - 1..to.min(calls.len()))?)
            });
        }
        for group in &bulk {
            add((*group).to_owned(), &|cell| {
                let calls: Vec<CompactCall<'_>> = cell
                    .calls
                    .iter()
                    .filter(|call| call.group() == *group)
                    .collect();
                mean_ns(cell, &calls)
            });
        }
    }
    rows
}

fn mean_ns(cell: &CompactCell, calls: &[CompactCall<'_>]) -> Option<f64> {
    let measured = matches!(cell.outcome, Outcome::Clean | Outcome::Noisy { .. });
    let well = calls.iter().all(|call| *call.result() == CallResult::Ok);
    let sum: f64 = calls.iter().map(|call| call.end_ns() as f64).sum();
    (measured && well && !calls.is_empty()).then(|| sum / calls.len() as f64)
}

fn row(
    network: &str,
    requests: String,
    arm: &BTreeMap<u32, f64>,
    oracles: &[BTreeMap<u32, f64>],
) -> Option<Regret> {
    let complete = |block: &u32| oracles.iter().all(|values| values.contains_key(block));
    let blocks: Vec<u32> = arm.keys().copied().filter(complete).collect();
    let mut chosen = vec![0; oracles.len()];
    let (mut regrets, mut bests) = (Vec::new(), Vec::new());
    for block in &blocks {
        let elsewhere = |values: &BTreeMap<u32, f64>| {
            let others = blocks.iter().filter(|other| *other != block);
            let others: Vec<Span> = others.map(|other| Span::exact(values[other])).collect();
            median(&others).map_or(f64::INFINITY, |median| median.lo)
        };
        let medians: Vec<f64> = oracles.iter().map(elsewhere).collect();
        let best = (0..oracles.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]))?;
        chosen[best] += 1;
        bests.push(Span::exact(oracles[best][block]));
        regrets.push(Span::exact(arm[block] - oracles[best][block]));
    }
    let regret = estimate_by_order(&regrets, Level::NINETY_FIVE)?;
    Some(Regret {
        network: network.to_owned(),
        requests,
        oracle_ns: median(&bests)?.lo,
        regret_ns: regret.value.lo,
        low_ns: regret.interval.lo,
        high_ns: regret.interval.hi,
        coverage: regret.interval.coverage,
        blocks: regret.blocks,
        oracles: chosen,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_block(values: &[f64]) -> BTreeMap<u32, f64> {
        (0..).zip(values.iter().map(|ms| ms * 1e6)).collect()
    }

    #[test]
    fn the_oracle_is_chosen_by_the_other_blocks() {
        // The first oracle arm is better but for one block, which cannot be predicted.
        let oracles = [
            by_block(&[50.0, 50.0, 50.0, 50.0, 50.0, 90.0]),
            by_block(&[60.0; 6]),
        ];
        let arm = by_block(&[51.0, 51.0, 51.0, 51.0, 51.0, 91.0]);
        let regret = row("n", "all".into(), &arm, &oracles).unwrap();
        assert_eq!(regret.oracles, [6, 0]);
        assert_eq!(
            (regret.regret_ns, regret.low_ns, regret.high_ns),
            (1e6, 1e6, 1e6)
        );
        assert_eq!((regret.blocks, regret.verdict()), (6, "met"));
    }

    #[test]
    fn the_verdict_goes_by_the_whole_interval() {
        let verdict = |regrets_ms: &[f64]| {
            let arm: Vec<f64> = regrets_ms.iter().map(|regret| 50.0 + regret).collect();
            let oracle = vec![50.0; arm.len()];
            row("n", "all".into(), &by_block(&arm), &[by_block(&oracle)])
                .unwrap()
                .verdict()
        };
        assert_eq!(verdict(&[1.0, 2.0, 3.0, 4.0, 4.5, 4.9]), "met");
        assert_eq!(verdict(&[5.1, 6.0, 7.0, 8.0, 9.0, 9.5]), "missed");
        assert_eq!(verdict(&[1.0, 2.0, 3.0, 4.0, 5.0, 9.0]), "cannot tell");
        assert_eq!(verdict(&[0.0; 5]), "cannot tell", "too few blocks");
    }

    #[test]
    fn blocks_without_all_arms_do_not_count() {
        let (arm, mut oracle) = (by_block(&[50.0; 8]), by_block(&[50.0; 8]));
        oracle.remove(&3);
        assert_eq!(row("n", "all".into(), &arm, &[oracle]).unwrap().blocks, 7);
        assert_eq!(row("n", "all".into(), &arm, &[BTreeMap::new()]), None);
    }
}
