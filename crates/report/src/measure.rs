//! The figures of a population of calls.

use record::{Call, CallResult, Run};
use stats::{Level, Span};

use crate::cells::Blocks;
use crate::parts::parts;
use crate::population::{Population, time};
use crate::quantity::{Quantity, Unit};
use crate::summary::{Measure, Part};

impl Population {
    /// All figures of it but the comparison.
    pub(crate) fn measure(&self, blocks: &Blocks<'_>, run: &Run) -> Measure {
        let calls: Vec<&Call> = blocks
            .values()
            .flat_map(|cell| self.of(&cell.calls))
            .collect();
        let count = |test: fn(&Call) -> bool| calls.iter().filter(|call| test(call)).count();
        let by_block: Vec<Span> = self
            .by_block(blocks, run.timeout_ns)
            .into_values()
            .collect();
        let estimate = |values: &[Span]| stats::estimate(values, Level::NINETY_FIVE, run.seed);
        let pooled: Vec<Vec<Span>> = blocks
            .values()
            .map(|cell| {
                self.of(&cell.calls)
                    .map(|c| time(c, run.timeout_ns))
                    .collect()
            })
            .collect();
        let p95 = stats::pooled_quantile(&pooled, 0.95, Level::NINETY_FIVE, run.seed);
        let goodput = || estimate(&self.goodput(blocks, run.timeout_ns));
        Measure {
            group: self.group.clone(),
            part: self.part,
            label: self.label.clone(),
            calls: calls.len(),
            timed_out: count(|call| call.result == CallResult::TimedOut),
            failed: count(|call| matches!(call.result, CallResult::Error { .. })),
            retried: count(|call| call.server_hits > 1),
            time: estimate(&by_block).map(|e| Quantity::new(&e, Unit::Ns)),
            p95: p95.map(|e| Quantity::new(&e, Unit::Ns)),
            goodput: (self.part == Part::Bulk)
                .then(goodput)
                .flatten()
                .map(|e| Quantity::new(&e, Unit::BitsPerSecond)),
            parts: parts(self, blocks),
            comparison: None,
            with_noisy: None,
        }
    }

    /// Body bits over time, the median of each block. A censored time is a bound on it too.
    fn goodput(&self, blocks: &Blocks<'_>, timeout_ns: u64) -> Vec<Span> {
        let rate = |call: &Call| {
            let bytes = match call.result {
                CallResult::Ok => call.request_bytes.max(call.response_bytes),
                CallResult::TimedOut | CallResult::Error { .. } => self.bulk_bytes,
            };
            let bits = Span::exact(bytes as f64 * 8e9);
            // A time of 0 ns is a clock too coarse to see the call.
            let time = time(call, timeout_ns).map_increasing(|ns| ns.max(1.0));
            bits.over(time)
        };
        let of = |calls: &[Call]| stats::median(&self.of(calls).map(rate).collect::<Vec<_>>());
        blocks.values().filter_map(|cell| of(&cell.calls)).collect()
    }
}
