//! The output of `--dry-run`: one line per cell, for people and for `grep`.

use lab::{Plan, Shard};

/// Share of wrong verdicts that a report allows.
const ERROR: f64 = 0.05;

/// Returns every cell of the shard in the order of running, then the totals and the warnings.
pub(crate) fn text(plan: &Plan, shard: Shard, jobs: u16, warnings: &[String]) -> String {
    let mut out = String::new();
    let study = &plan.study;
    let mut add_line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    add_line(format!("{}: {}", study.name, study.question));
    for network in &plan.networks {
        add_line(format!("  {:<16} {}", network.name, network.numbers()));
    }
    let mut cells = 0_u64;
    for cell in plan.shard(shard).flat_map(|block| &block.cells) {
        add_line(cell.planned.id.clone());
        cells += 1;
    }
    let seconds = plan.estimate_ns(shard, jobs) / 1_000_000_000;
    let all = plan.cells().count();
    let (seed, minutes, seconds) = (study.seed, seconds / 60, seconds % 60);
    let parallel = match jobs {
        1 => String::new(),
        n => format!(" with {n} in parallel"),
    };
    add_line(format!(
        "{cells} of {all} cells, seed {seed}, about {minutes} min {seconds:02} s{parallel}"
    ));
    match plan.comparisons() {
        0 => {}
        comparisons => add_line(enough_blocks(comparisons, study.blocks)),
    }
    for warning in warnings {
        add_line(format!("warning: {warning}"));
    }
    out
}

/// Says at how many blocks there can be verdicts at all.
fn enough_blocks(comparisons: usize, planned: u32) -> String {
    let (all, one) = (fewest_blocks(1), fewest_blocks(comparisons));
    let short = match planned {
        n if n < all => "; this plan cannot give any",
        n if n < one => "; this plan may be too short for some",
        _ => "",
    };
    let counted = match comparisons {
        1 => "verdicts: 1 comparison".to_owned(),
        n => format!("verdicts: {n} comparisons"),
    };
    format!(
        "{counted}, which take at least {all} blocks if all are clear and {one} if only one is; \
         {planned} planned{short}"
    )
}

/// The fewest blocks whose agreement is less likely by chance than the error that each comparison
/// may make: 2^-(n-1) for a two-sided sign test.
fn fewest_blocks(comparisons: usize) -> u32 {
    let chance = |blocks: u32| 2_f64.powi(1 - blocks as i32);
    (1..)
        .find(|&blocks| comparisons as f64 * chance(blocks) <= ERROR)
        .unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_comparisons_need_more_blocks() {
        let fewest = [1, 2, 3, 4, 6, 7, 12, 24, 25, 26, 204].map(fewest_blocks);
        assert_eq!(fewest, [6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 13]);
    }

    #[test]
    fn a_plan_that_is_too_short_is_warned_of() {
        assert!(enough_blocks(24, 5).ends_with("5 planned; this plan cannot give any"));
        assert!(enough_blocks(24, 6).ends_with("this plan may be too short for some"));
        assert!(enough_blocks(24, 10).ends_with("10 planned"));
    }
}
