//! Whether common random numbers worked: whether a copy of the baseline lost the same packets, and
//! whether its times followed the baseline's where those losses cost time.

use std::collections::BTreeMap;

use record::{Cell, LossComparison, Network, PacketSeries};
use stats::{MIN_BLOCKS, Span};

use crate::cells::Blocks;
use crate::number::count;
use crate::summary::arm::{ArmSummary, CommonLosses};
use crate::summary::measure::Measure;

/// The smallest correlation of a copy's times with the baseline's that passes.
pub(crate) const MIN_CORRELATION: f64 = 0.9;

/// Compares the packets that a copy of the baseline lost with those that the baseline lost, block by
/// block and connection by connection. `None` where no block can be compared, e.g. because the
/// records have no packets.
///
/// Fades come and go by the clock, so that copies that send a moment later lose other packets; a
/// network with fades is not compared. Nor is a cell some of whose packets belong to no connection in
/// the server's log, because the positions of its connections are uncertain.
pub(crate) fn common_losses(
    network: &Network,
    copy: &Blocks<'_>,
    baseline: &Blocks<'_>,
) -> Option<CommonLosses> {
    let models = loss_models(network);
    if models.iter().any(|model| model == "burst") {
        return None;
    }
    // A packet dropped by a queue is one step of a chain less: later losses shift.
    let is_chain = models.iter().any(|model| model == "gilbert_elliott");
    let comparable = |cell: &Cell| {
        let series = || cell.connections.iter().flat_map(|c| &c.packets);
        let sent: u64 = series().map(|s| u64::from(s.sent)).sum();
        let dropped: usize = series().map(|s| s.lost.len() + s.dropped.len()).sum();
        cell.is_measured()
            && sent > 0
            && sent == cell.wire.up_packets + cell.wire.down_packets
            && dropped as u64 == cell.wire.dropped_packets
            && !(is_chain && series().any(|s| !s.dropped.is_empty()))
    };
    let mut all = CommonLosses::default();
    for (block, cell) in copy {
        let Some(other) = baseline.get(block) else {
            continue;
        };
        if !comparable(cell) || !comparable(other) {
            continue;
        }
        let mut found = LossComparison::default();
        for (one, other) in cell.connections.iter().zip(&other.connections) {
            found.add(LossComparison::of(&one.packets, &other.packets));
        }
        all.blocks += 1;
        all.blocks_that_differ += usize::from(found.different > 0);
        all.packets += u64::from(found.compared);
        all.lost_by_both += u64::from(found.lost);
        all.lost_by_one += u64::from(found.different);
    }
    (all.blocks > 0).then_some(all)
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
        let series = |cell: &Cell| cell.connections.iter().flat_map(|c| &c.packets).any(lost);
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

/// Returns what shows that a copy of the baseline did not meet the same losses.
pub(crate) fn objections(copy: &ArmSummary) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(losses) = &copy.common_losses
        && losses.blocks_that_differ > 0
    {
        found.push(format!(
            "in {} of {} {} lost other packets than the baseline ({} of {}), so losses are not \
             common to all arms",
            losses.blocks_that_differ,
            count(losses.blocks, "block"),
            copy.name,
            losses.lost_by_one,
            count(losses.packets as usize, "packet"),
        ));
    }
    let weak = |measure: &Measure| {
        let correlation = measure.comparison.as_ref()?.loss_correlation?;
        (correlation < MIN_CORRELATION).then(|| {
            format!(
                "{}: where losses cost time, the times of {} correlate with the baseline's by only \
                 {correlation:.2} (at least {MIN_CORRELATION})",
                measure.label, copy.name
            )
        })
    };
    found.extend(copy.measures.iter().filter_map(weak));
    found
}

/// Returns remarks on what a copy has in common with the baseline.
pub(crate) fn remarks(copy: &ArmSummary) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(losses) = &copy.common_losses {
        let blocks = count(losses.blocks, "block");
        remarks.push(match losses.blocks_that_differ {
            0 => format!(
                "lost the same packets as the baseline in {} of {blocks} ({} of {})",
                losses.blocks,
                losses.lost_by_both,
                count(losses.packets as usize, "packet")
            ),
            n => format!("lost other packets than the baseline in {n} of {blocks}"),
        });
    }
    let correlation = |measure: &Measure| {
        let comparison = measure.comparison.as_ref()?;
        let all = comparison.correlation?;
        Some(match comparison.loss_correlation {
            Some(judged) => format!("{} {all:.2} (judged: {judged:.2})", measure.label),
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
