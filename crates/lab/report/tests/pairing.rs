//! Tests that the report notices when arms of a block did not meet the same losses.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Cell, Move, PacketSeries, RunData};
use report::{AaCheck, CommonLosses, Summary, brief, human, summarise};

const BASELINE: &str = "hyper h2";
const COPY: &str = "hyper h2 again";

/// Gives every cell packets. Those of the server that `lost` returns were lost at random.
fn with_packets(networks: &[&str], lost: impl Fn(&Cell) -> Vec<u32>) -> RunData {
    let mut arms = quickstart();
    arms.truncate(3);
    let data = data(&arms, networks, 10, 1);
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        let lost = lost(cell);
        cell.wire.dropped_packets = lost.len() as u64;
        let up = PacketSeries {
            up: true,
            sent: cell.wire.up_packets as u32,
            ..PacketSeries::default()
        };
        let down = PacketSeries {
            full_size: true,
            sent: cell.wire.down_packets as u32,
            lost,
            ..PacketSeries::default()
        };
        cell.connections[0].packets = vec![up, down];
    }
    RunData::new(data.run().clone(), cells).unwrap()
}

/// Returns two packets of every block, the same for all arms.
fn common(cell: &Cell) -> Vec<u32> {
    vec![cell.block, cell.block + 100]
}

/// Returns as many packets as `common`, and none of those.
fn other(cell: &Cell) -> Vec<u32> {
    vec![cell.block + 200, cell.block + 300]
}

fn changed(data: &RunData, change: impl Fn(&mut Cell)) -> RunData {
    let mut cells = data.cells().to_vec();
    cells.iter_mut().for_each(change);
    RunData::new(data.run().clone(), cells).unwrap()
}

fn common_losses(summary: &Summary) -> Option<CommonLosses> {
    let arms = &summary.networks[0].arms;
    arms.iter().find(|a| a.name == COPY).unwrap().common_losses
}

fn objections(summary: &Summary) -> &[String] {
    match &summary.a_a {
        AaCheck::Failed { objections } => objections,
        _ => &[],
    }
}

#[test]
fn copies_that_lose_the_same_packets_pass() {
    let summary = summarise(&with_packets(&["true-metro"], common));
    assert_eq!(summary.a_a, AaCheck::Passed);
    let losses = common_losses(&summary).unwrap();
    assert_eq!((losses.blocks, losses.blocks_that_differ), (10, 0));
    assert_eq!((losses.lost_by_both, losses.lost_by_one), (20, 0));
    let text = human(&summary, 200, false);
    assert!(
        text.contains(
            "lost the same packets as the baseline in 10 of 10 blocks (20 of 7000 packets); the check fails \
             if only one loses 11 of them"
        ),
        "{text}"
    );
}

/// After a move, the number of a packet no longer names its random draw.
#[test]
fn losses_of_cells_with_moves_are_not_compared() {
    let differing = with_packets(&["true-metro"], |cell| match cell.arm.as_str() {
        COPY => other(cell),
        _ => common(cell),
    });
    assert!(!objections(&summarise(&differing)).is_empty());
    let moved = changed(&differing, |cell| cell.moves = vec![Move::default()]);
    let summary = summarise(&moved);
    assert_eq!(objections(&summary), [""; 0]);
    assert!(common_losses(&summary).is_none_or(|losses| losses.blocks == 0));
}

/// They cost precision in one block, and neither the run nor its answer.
#[test]
fn other_losses_of_one_block_are_tolerated() {
    let summary = summarise(&with_packets(&["true-metro"], |cell| {
        match cell.arm.as_str() {
            COPY if cell.block == 9 => vec![],
            _ => common(cell),
        }
    }));
    assert_eq!(summary.a_a, AaCheck::Passed);
    let losses = common_losses(&summary).unwrap();
    assert_eq!((losses.lost_by_one, losses.tolerated), (2, 10));
    let text = human(&summary, 200, false);
    let remark = "lost other packets than the baseline in 1 of 10 blocks, whose times are left out (2 of 20 that \
                  were lost, of 7000 packets; correlation about 0.95); the check fails if only one loses 11 of them";
    assert!(text.contains(remark), "{text}");
}

/// Losses of little correlation pass where few were lost, so the report prints the correlation.
#[test]
fn tolerated_losses_come_with_their_correlation() {
    // Both lose 17 packets; of 13 more, the copy loses seven and the baseline six.
    let summary = summarise(&with_packets(&["true-metro"], |cell| {
        let other = match (cell.arm == COPY, cell.block) {
            (true, 0..7) | (false, 1..7) => vec![200 + u32::from(cell.arm == COPY)],
            _ => vec![],
        };
        match cell.block {
            0..7 => [common(cell), other].concat(),
            7 => common(cell),
            8 => vec![cell.block],
            _ => vec![],
        }
    }));
    assert_eq!(summary.a_a, AaCheck::Passed);
    let losses = common_losses(&summary).unwrap();
    assert_eq!((losses.lost_by_both, losses.lost_by_one), (17, 13));
    let text = human(&summary, 400, false);
    let remark = "in 7 of 10 blocks, whose times are left out (13 of 30 that were lost, of 7000 packets; \
                  correlation about 0.72); the check fails if only one loses 14 of them";
    assert!(text.contains(remark), "{text}");
}

/// Four lost packets cannot fail the check, which the brief report says.
#[test]
fn too_few_losses_are_reported() {
    const WORDS: &str = "\nNot checked that all arms met the same losses, with too few of them or none to compare: \
        true-metro\n";
    for (lossy, is_said) in [(0, false), (2, true), (3, false)] {
        let summary = summarise(&with_packets(&["true-metro"], |cell| {
            if cell.block < lossy {
                common(cell)
            } else {
                vec![]
            }
        }));
        let text = brief(&summary, 110, false);
        assert_eq!(text.contains(WORDS), is_said, "{lossy}: {text}");
    }
}

/// Other losses come before other times, whatever the network.
#[test]
fn other_losses_fail_the_check_and_come_first() {
    let networks = ["true-metro", "4g-tether"];
    let data = with_packets(&networks, |cell| {
        let fails = cell.arm == COPY && cell.network == networks[1] && cell.block < 5;
        if fails { other(cell) } else { common(cell) }
    });
    let data = changed(&data, |cell| {
        if cell.arm == COPY {
            cell.calls[0].end_ns *= 2;
            cell.calls[5].end_ns *= 2;
        }
    });
    let summary = summarise(&data);
    assert_eq!(
        objections(&summary)[0],
        "4g-tether: in 5 of 10 blocks hyper h2 again lost other packets than the baseline: only one lost 20 of 30 \
         packets that were lost (at most 13 are tolerated), so losses are not common to all arms"
    );
    assert!(objections(&summary)[1].starts_with("true-metro: first request"));
    let text = human(&summary, 2_000, false);
    let start = "THE A/A CHECK FAILED. 4g-tether: in 5 of";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn other_losses_replace_advice() {
    let summary = summarise(&with_packets(&["true-metro"], |cell| {
        match cell.arm.as_str() {
            COPY if cell.block >= 5 => other(cell),
            _ => common(cell),
        }
    }));
    let sentence = &summary.networks[0].sentence;
    assert!(
        sentence.starts_with(
            "Do not use the results of this network: hyper h2 again is a copy of hyper h2 but \
             differs from it: in 5 of 10 blocks hyper h2 again lost other packets"
        ),
        "{sentence}"
    );
}

/// Which packets a full queue drops depends on timing.
#[test]
fn packets_dropped_by_a_queue_are_no_difference() {
    let data = changed(&with_packets(&["true-metro"], common), |cell| {
        if cell.arm == COPY {
            let series = &mut cell.connections[0].packets[1];
            series.dropped = vec![series.lost.pop().unwrap(), 200];
            cell.wire.dropped_packets = 3;
        }
    });
    let summary = summarise(&data);
    assert_eq!(summary.a_a, AaCheck::Passed);
    let losses = common_losses(&summary).unwrap();
    assert_eq!((losses.packets, losses.lost_by_both), (6_980, 10));
}

/// Connections are compared by position; a cell with packets of unknown connections has none.
#[test]
fn cells_with_unknown_packets_are_not_compared() {
    let other = |cell: &Cell| {
        if cell.arm == COPY {
            vec![]
        } else {
            common(cell)
        }
    };
    let data = with_packets(&["true-metro"], other);
    assert_eq!(common_losses(&summarise(&data)).unwrap().blocks, 10);
    let retried = changed(&data, |cell| {
        if cell.arm == BASELINE {
            cell.wire.up_packets += u64::from(cell.block < 8);
        }
    });
    let losses = common_losses(&summarise(&retried)).unwrap();
    assert_eq!((losses.blocks, losses.blocks_that_differ), (2, 2));
    let without = changed(&data, |cell| cell.connections[0].packets.clear());
    let summary = summarise(&without);
    assert_eq!(
        (common_losses(&summary), &summary.a_a),
        (None, &AaCheck::Passed)
    );
}

#[test]
fn losses_by_the_clock_are_not_compared() {
    let other = |cell: &Cell| {
        if cell.arm == COPY {
            vec![]
        } else {
            common(cell)
        }
    };
    let data = with_packets(&["true-metro"], other);
    let mut run = data.run().clone();
    run.networks[0].toml = "[down.loss.burst]\ngood_ns = 1\n".into();
    let data = RunData::new(run, data.cells().to_vec()).unwrap();
    let summary = summarise(&data);
    let losses = common_losses(&summary).unwrap();
    assert_eq!((losses.blocks, losses.lost_by_one), (0, 0));
    let text = brief(&summary, 110, false);
    assert!(
        text.contains("Not checked that all arms met the same losses"),
        "{text}"
    );
}

/// A queue's drop in one cell shifts all later losses of a chain.
#[test]
fn chains_are_compared_only_where_no_queue_dropped_a_packet() {
    let data = changed(&with_packets(&["true-metro"], common), |cell| {
        if cell.arm == COPY && cell.block < 4 {
            let series = &mut cell.connections[0].packets[1];
            series.dropped = vec![200];
            series.lost[1] += 1;
            cell.wire.dropped_packets = 3;
        }
    });
    let losses = |toml: &str| {
        let mut run = data.run().clone();
        run.networks[0].toml = toml.into();
        let data = RunData::new(run, data.cells().to_vec()).unwrap();
        let losses = common_losses(&summarise(&data)).unwrap();
        (losses.blocks, losses.blocks_that_differ)
    };
    assert_eq!(
        losses("[down.loss.gilbert_elliott]\nto_bad_ppb = 1\n"),
        (6, 0)
    );
    assert_eq!(losses("[down.loss.iid]\nppb = 1\n"), (10, 4));
}

/// Returns a run in whose first `lossy` blocks a loss slowed the image down, each time by more. The
/// copy meets these slow images in the same order, or in the opposite one.
fn with_slow_images(lossy: u32, reversed: bool) -> RunData {
    let data = with_packets(&["true-metro"], |cell| match cell.block < lossy {
        true => common(cell),
        false => Vec::new(),
    });
    changed(&data, |cell| {
        let step = match cell.arm == COPY && reversed {
            true => lossy.saturating_sub(cell.block),
            false => cell.block + 1,
        };
        if cell.block < lossy {
            cell.calls[15].end_ns += 300_000_000 * u64::from(step);
        }
    })
}

fn image_correlation(summary: &Summary) -> Option<f64> {
    let arms = &summary.networks[0].arms;
    let copy = arms.iter().find(|arm| arm.name == COPY).unwrap();
    let image = copy.measures.iter().find(|m| m.label == "image").unwrap();
    image.comparison.as_ref().unwrap().loss_correlation
}

#[test]
fn how_far_copies_follow_the_baseline_is_printed_and_not_judged() {
    let summary = summarise(&with_slow_images(6, false));
    assert!(image_correlation(&summary).unwrap() > 0.9);
    assert_eq!(objections(&summary), [] as [String; 0]);
    let text = human(&summary, 200, false);
    assert!(text.contains("correlation with the baseline over blocks: first request"));

    // Times that vary for another reason than losses, e.g. Nagle's algorithm, cost precision only.
    let summary = summarise(&with_slow_images(6, true));
    assert!(image_correlation(&summary).unwrap() < 0.9);
    assert_eq!(objections(&summary), [] as [String; 0]);
    assert!(
        matches!(summary.a_a, AaCheck::Inconclusive { .. }),
        "{:?}",
        summary.a_a
    );
}

/// Fewer losses decide nothing, and other measures vary by noise alone.
#[test]
fn correlation_is_not_printed_with_fewer_than_six_slow_blocks() {
    for reversed in [false, true] {
        let summary = summarise(&with_slow_images(5, reversed));
        assert_eq!(image_correlation(&summary), None);
        assert_eq!(objections(&summary), [] as [String; 0]);
    }
    let summary = summarise(&with_slow_images(6, false));
    let arms = &summary.networks[0].arms;
    let copy = arms.iter().find(|arm| arm.name == COPY).unwrap();
    let printed: Vec<&str> = copy
        .comparisons()
        .filter(|(_, c)| c.loss_correlation.is_some())
        .map(|(m, _)| m.label.as_str())
        .collect();
    assert_eq!(printed, ["image"]);
}

/// A copy that never varies has no correlation, which is no agreement.
#[test]
fn copies_without_any_slow_block_do_not_follow() {
    let data = changed(&with_slow_images(6, false), |cell| {
        if cell.arm == COPY {
            cell.calls[15].end_ns = 1_800_000_000;
        }
    });
    assert_eq!(image_correlation(&summarise(&data)), Some(0.0));
}

/// Where the copy lost other packets, its times need not be the baseline's.
#[test]
fn times_of_blocks_with_other_losses_are_not_compared() {
    let data = changed(&with_slow_images(7, false), |cell| {
        if cell.arm == COPY && cell.block == 6 {
            cell.connections[0].packets[1].lost = other(cell);
            cell.calls[15].end_ns = 1_800_000_000;
        }
    });
    let summary = summarise(&data);
    assert!(image_correlation(&summary).unwrap() > 0.9);
    assert_eq!(objections(&summary), [] as [String; 0]);
}

/// A difference of the size that the check says it would have noticed fails it; half of what it tolerates does not.
#[test]
fn the_check_notices_what_it_says_it_does() {
    let slower_by = |ns: f64| {
        let data = changed(&with_packets(&["true-metro"], common), |cell| {
            if cell.arm == COPY {
                cell.calls[0].end_ns += ns as u64;
                cell.calls[5].end_ns += ns as u64;
            }
        });
        summarise(&data)
    };
    let summary = slower_by(0.0);
    let arms = &summary.networks[0].arms;
    let copy = arms.iter().find(|arm| arm.name == COPY).unwrap();
    let (_, first) = copy.comparisons().next().unwrap();
    let (margin, noticeable) = (first.margin_ns, first.noticeable_ns.unwrap());
    assert!(noticeable >= margin);
    assert_eq!(objections(&slower_by(margin / 2.0)), [] as [String; 0]);
    let noticed = slower_by(noticeable + 1e6);
    let found = &objections(&noticed)[0];
    assert!(found.starts_with("true-metro: first request"), "{found}");
}

/// Without a verdict, a difference in one measure might have given none, either, however exact its interval.
#[test]
fn undecided_comparisons_would_have_noticed_nothing() {
    let noticeable = |blocks: u32, change: fn(&mut Cell)| -> Vec<bool> {
        let mut arms = quickstart();
        arms.truncate(3);
        let summary = summarise(&changed(&data(&arms, &["true-metro"], blocks, 1), change));
        let copy = summary.networks[0].arms.iter().find(|arm| arm.name == COPY);
        let comparisons = copy.unwrap().comparisons();
        comparisons
            .map(|(_, c)| c.noticeable_ns.is_some())
            .collect()
    };
    assert_eq!(noticeable(5, |_| {}), [false; 4]);
    assert_eq!(noticeable(6, |_| {}), [true; 4]);
    // All but first requests are slow now in the one copy and now in the other.
    let noisy = |cell: &mut Cell| {
        if (cell.arm == COPY) == cell.block.is_multiple_of(2) {
            for call in cell.calls.iter_mut().filter(|call| !call.first) {
                call.end_ns += 3_000_000_000;
            }
        }
    };
    assert_eq!(noticeable(6, noisy), [false; 4]);
    assert_eq!(noticeable(8, noisy), [true, false, false, false]);
}
