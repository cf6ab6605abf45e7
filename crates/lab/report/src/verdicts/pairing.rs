//! Checks whether common random numbers worked: a copy of the baseline must lose the same packets. How far its times
//! follow the baseline's where those losses cost time is printed, not judged: it costs precision, and intervals have that.

use std::collections::BTreeMap;

use record::{CompactCell, LossComparison, Network, PacketSeries};
use stats::{MIN_BLOCKS, Span};

use crate::figures::cells::Blocks;
use crate::summary::arm::{ArmSummary, CommonLosses};
use crate::summary::measure::{Comparison, Measure};
use crate::summary::quantity::Bound;
use crate::verdicts::unusable::given_up;
use crate::words::number::{count, duration};

/// The correlation of a copy's losses with the baseline's that the check asks for: it fails only if the losses refute this
/// one. Paired differences then have a tenth of the variance that losses cause in unpaired ones.
const MIN_CORRELATION: f64 = 0.9;
/// Of the packets that either lost, the share that only one lost if losses have that correlation r:
/// 2 (1 - r) / (2 - r), as long as losses are rare.
const MAX_UNSHARED: f64 = 2.0 * (1.0 - MIN_CORRELATION) / (2.0 - MIN_CORRELATION);
/// How often the check of a network fails if losses have just that correlation. A failure discards the run, and
/// losses that differ come in clusters, e.g. where two connections were opened in the other order.
const LOSS_ERROR: f64 = 0.001;

/// Compares the packets that a copy of the baseline lost with those that the baseline lost, block by block and
/// connection by connection. Only blocks that can be compared count; none can, e.g., if the records have no packets.
///
/// Fades come and go by the clock, so that copies that send a moment later lose other packets; a
/// network with fades is not compared. Nor is a cell some of whose packets belong to no connection in
/// the server's log, because the positions of its connections are uncertain. Nor is a cell with a move: the next
/// address of a connection gets another series of random losses, while its packets are numbered on.
pub(crate) fn losses_by_block(
    network: &Network,
    copy: &Blocks<'_>,
    baseline: &Blocks<'_>,
) -> BTreeMap<u32, LossComparison> {
    let models = loss_models(network);
    if models.iter().any(|model| model == "burst") {
        return BTreeMap::new();
    }
    // A packet dropped by a queue is one step of a chain less: later losses shift.
    let is_chain = models.iter().any(|model| model == "gilbert_elliott");
    let comparable = |cell: &CompactCell| {
        let series = || cell.connections.iter().flat_map(|c| &c.packets);
        let sent: u64 = series().map(|s| u64::from(s.sent)).sum();
        let dropped: usize = series().map(|s| s.lost.len() + s.dropped.len()).sum();
        cell.is_measured()
            && cell.moves.is_empty()
            && sent > 0
            && sent == cell.wire.up_packets + cell.wire.down_packets
            && dropped as u64 == cell.wire.dropped_packets
            && !(is_chain && series().any(|s| !s.dropped.is_empty()))
    };
    let compared = |(block, cell): (&u32, &&CompactCell)| {
        let other = baseline.get(block)?;
        if !comparable(cell) || !comparable(other) {
            return None;
        }
        let mut found = LossComparison::default();
        for (one, other) in cell.connections.iter().zip(&other.connections) {
            found.add(LossComparison::of(&one.packets, &other.packets));
        }
        Some((*block, found))
    };
    copy.iter().filter_map(compared).collect()
}

/// Returns the sums over blocks; `None` without blocks on a network without random loss.
pub(crate) fn common_losses(
    network: &Network,
    by_block: &BTreeMap<u32, LossComparison>,
) -> Option<CommonLosses> {
    let mut all = CommonLosses::default();
    for found in by_block.values() {
        all.blocks += 1;
        all.blocks_that_differ += usize::from(found.different > 0);
        all.packets += u64::from(found.compared);
        all.lost_by_both += u64::from(found.lost);
        all.lost_by_one += u64::from(found.different);
    }
    all.tolerated = tolerated(all.lost());
    (all.blocks > 0 || !loss_models(network).is_empty()).then_some(all)
}

/// Returns how many of `lost` packets only one of two copies may lose. With more, it is improbable that the correlation
/// of their losses is [`MIN_CORRELATION`] or above.
fn tolerated(lost: u64) -> u64 {
    let is_probable = |unshared: &u64| {
        stats::at_least(*unshared as usize, lost as usize, MAX_UNSHARED) > LOSS_ERROR
    };
    (1..=lost).take_while(is_probable).last().unwrap_or(0)
}

/// Returns the smallest difference that would have failed the comparison of a copy with the baseline, had it been
/// there in every block: it moves the estimate beyond the margin and the interval beyond zero, to either side. `None`
/// without a verdict: then a difference in this measure alone might have given none, either.
pub(crate) fn noticeable_ns(comparison: &Comparison) -> Option<f64> {
    if !comparison.verdict.is_decided() {
        return None;
    }
    let difference = &comparison.difference;
    let value = difference
        .value
        .filter(|_| difference.bound == Bound::Exact)?;
    let (lo, hi) = (difference.low?, difference.high?);
    Some((comparison.margin_ns + value.abs()).max(-lo).max(hi))
}

/// Returns the models of random loss of both directions, as a recorded network names them.
fn loss_models(network: &Network) -> Vec<String> {
    let Ok(table) = network.toml.parse::<toml::Table>() else {
        return Vec::new();
    };
    let loss = ["up", "down"]
        .into_iter()
        .filter_map(|direction| table.get(direction)?.get("loss")?.as_table());
    loss.flat_map(|loss| loss.keys().cloned()).collect()
}

/// Returns Spearman's correlation of a copy's times with the baseline's, by block, if losses decided
/// them: in at least [`MIN_BLOCKS`] blocks the baseline lost a packet at random and took longer than
/// in its fastest block by more than the margin. Other measures vary by noise alone, which copies do
/// not share.
///
/// Times count as equal if they do not differ by more than about the margin: they are rounded to its
/// multiples around the baseline's median.
pub(crate) fn loss_correlation(
    (copy, baseline): (&BTreeMap<u32, Span>, &BTreeMap<u32, Span>),
    baseline_cells: &Blocks<'_>,
    margin_ns: f64,
) -> Option<f64> {
    let exact = |(block, time): (&u32, &Span)| {
        let (copy, baseline) = (copy.get(block)?.known()?, time.known()?);
        let lost = |s: &PacketSeries| !s.lost.is_empty();
        let series =
            |cell: &CompactCell| cell.connections.iter().flat_map(|c| &c.packets).any(lost);
        Some((copy, baseline, series(baseline_cells.get(block)?)))
    };
    let times: Vec<(f64, f64, bool)> = baseline.iter().filter_map(exact).collect();
    let fastest = times.iter().map(|t| t.1).fold(f64::INFINITY, f64::min);
    let slowed = |t: &&(f64, f64, bool)| t.2 && t.1 > fastest + margin_ns;
    if times.iter().filter(slowed).count() < MIN_BLOCKS {
        return None;
    }
    let all: Vec<Span> = times.iter().map(|t| Span::exact(t.1)).collect();
    let median = stats::median(&all)?.lo;
    let rounded = |ns: f64| match margin_ns > 0.0 {
        true => Span::exact(((ns - median) / margin_ns).round()),
        false => Span::exact(ns),
    };
    let pairs: Vec<(Span, Span)> = times.iter().map(|t| (rounded(t.0), rounded(t.1))).collect();
    // The baseline varies: if the copy does not, there is nothing in common.
    Some(stats::rank_correlation(&pairs).unwrap_or(0.0))
}

/// Returns what shows, apart from the comparisons, that a copy differs from a baseline with results: that the copy was
/// given up, or did not meet the same losses.
pub(crate) fn objections(copy: &ArmSummary) -> Vec<String> {
    let mut found: Vec<String> = given_up(copy).into_iter().collect();
    if let Some(losses) = &copy.common_losses
        && losses.lost_by_one > losses.tolerated
    {
        found.push(format!(
            "in {} of {} {} lost other packets than the baseline: only one lost {} of {} that were lost (at most {} \
             are tolerated), so losses are not common to all arms",
            losses.blocks_that_differ,
            count(losses.blocks, "block"),
            copy.name,
            losses.lost_by_one,
            count(losses.lost() as usize, "packet"),
            losses.tolerated,
        ));
    }
    found
}

/// Returns remarks on what a copy has in common with the baseline.
pub(crate) fn remarks(copy: &ArmSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(losses) = &copy.common_losses {
        let blocks = count(losses.blocks, "block");
        let (lost, tolerated) = (losses.lost(), losses.tolerated);
        let found = match losses.blocks_that_differ {
            _ if losses.blocks == 0 => {
                "its lost packets cannot be compared with the baseline's".to_owned()
            }
            0 => format!(
                "lost the same packets as the baseline in {} of {blocks} ({lost} of {})",
                losses.blocks,
                count(losses.packets as usize, "packet")
            ),
            n => format!(
                "lost other packets than the baseline in {n} of {blocks}, whose times are left out ({} of {lost} \
                 that were lost, of {}; correlation about {:.2})",
                losses.lost_by_one,
                count(losses.packets as usize, "packet"),
                losses.correlation()
            ),
        };
        remarks.push(match lost {
            0 => found,
            _ if losses.is_powerless() => format!("{found}: too few losses for the check to fail"),
            _ => format!(
                "{found}; the check fails if only one loses {} of them",
                tolerated + 1
            ),
        });
    }
    let sensitivity = |(measure, comparison): (&Measure, &Comparison)| {
        Some(format!(
            "{} {} / {}",
            measure.label,
            duration(comparison.margin_ns),
            duration(comparison.noticeable_ns?)
        ))
    };
    let sensitivities: Vec<String> = copy.comparisons().filter_map(sensitivity).collect();
    if !sensitivities.is_empty() {
        remarks.push(format!(
            "differences that the check tolerates / would have noticed: {}",
            sensitivities.join(", ")
        ));
    }
    let correlation = |measure: &Measure| {
        let comparison = measure.comparison.as_ref()?;
        let all = comparison.correlation?;
        Some(match comparison.loss_correlation {
            Some(lossy) => format!(
                "{} {all:.2} (where losses cost time: {lossy:.2})",
                measure.label
            ),
            None => format!("{} {all:.2}", measure.label),
        })
    };
    let correlations: Vec<String> = copy.measures.iter().filter_map(correlation).collect();
    if !correlations.is_empty() {
        remarks.push(format!(
            "correlation with the baseline over blocks: {}",
            correlations.join(", ")
        ));
    }
    remarks
}

impl CommonLosses {
    /// Returns how many packets either lost.
    fn lost(&self) -> u64 {
        self.lost_by_both + self.lost_by_one
    }

    /// Returns whether there were losses, but too few for the A/A check to fail by them, or none that can be compared.
    pub(crate) fn is_powerless(&self) -> bool {
        self.blocks == 0 || self.lost() > 0 && self.tolerated == self.lost()
    }

    /// Returns the correlation of both arms' losses that the unshared ones among them suggest, if any packet was lost
    /// and losses are rare: the inverse of [`MAX_UNSHARED`].
    fn correlation(&self) -> f64 {
        let unshared = self.lost_by_one as f64 / self.lost() as f64;
        2.0 * (1.0 - unshared) / (2.0 - unshared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(toml: &str) -> Network {
        Network {
            name: "lossy".into(),
            numbers: String::new(),
            basis: None,
            rtt_ns: 0,
            down_bps: None,
            up_bps: None,
            base: None,
            levels: Vec::new(),
            toml: toml.into(),
        }
    }

    /// What two copies lost: packets in common, packets that only one lost, and whether the check accepts it.
    #[test]
    fn a_few_unshared_losses_are_tolerated_and_independent_ones_are_not() {
        for (both, one, passes) in [
            (0, 0, true),
            // Whatever else was lost, two packets of some thousand fail no run.
            (0, 2, true),
            (1, 2, true),
            (30, 2, true),
            (300, 2, true),
            (0, 4, true),
            // Nothing in common.
            (0, 5, false),
            (1, 30, false),
            // A correlation of 0.9, and one of 0.95.
            (90, 20, true),
            (95, 10, true),
            // A correlation of 0.67.
            (50, 50, false),
            (4_000, 980, true),
            (4_000, 1_000, false),
        ] {
            let losses = LossComparison {
                compared: 6_403,
                lost: both,
                different: one,
            };
            let all = common_losses(&network(""), &BTreeMap::from([(0, losses)])).unwrap();
            let is_tolerated = all.lost_by_one <= all.tolerated;
            assert_eq!(is_tolerated, passes, "{both} {one}: {all:?}");
        }
        assert_eq!(common_losses(&network(""), &BTreeMap::new()), None);
        let fades = common_losses(&network("[down.loss.burst]\n"), &BTreeMap::new()).unwrap();
        assert!(fades.blocks == 0 && fades.is_powerless());
    }

    /// With so many lost packets, how many that only one lost pass, by exact rational arithmetic.
    #[test]
    fn more_losses_tell_more() {
        for (lost, most) in [
            (0, 0),
            (4, 4),
            (5, 4),
            (10, 6),
            (30, 13),
            (100, 31),
            (1_000, 220),
        ] {
            assert_eq!(tolerated(lost), most, "{lost}");
        }
    }
}
