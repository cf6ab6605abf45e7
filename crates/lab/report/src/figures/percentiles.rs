//! Percentiles of requests, where there are enough requests for them.

use stats::{Level, Quantile, Span};

use crate::figures::cells::Blocks;
use crate::figures::population::{Population, time};
use crate::summary::measure::Percentile;
use crate::summary::quantity::{Quantity, Unit};

/// The percentiles of a report, in percent.
pub(crate) const PERCENTS: [u8; 4] = [50, 90, 95, 99];

/// Returns the percentiles of a population's requests that can be known.
pub(crate) fn percentiles(
    population: &Population,
    blocks: &Blocks<'_>,
    timeout_ns: u64,
) -> Vec<Percentile> {
    let times: Vec<Vec<Span>> = blocks
        .values()
        .map(|cell| {
            population
                .of(&cell.calls)
                .map(|c| time(c, timeout_ns))
                .collect()
        })
        .collect();
    let percentile = |percent: u8| {
        let quantile = stats::quantile(&times, f64::from(percent) / 100.0, Level::NINETY_FIVE)?;
        let (value, pooled) = match quantile {
            Quantile::WithinBlocks(estimate) => (Quantity::new(&estimate, Unit::Ns), false),
            Quantile::Pooled { value, blocks, .. } => {
                (Quantity::without_interval(value, blocks, Unit::Ns), true)
            }
        };
        Some(Percentile {
            percent,
            value,
            pooled,
        })
    };
    PERCENTS.into_iter().filter_map(percentile).collect()
}
