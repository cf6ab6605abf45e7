//! The output of `--dry-run`: one line per cell, for people and for `grep`.

use lab::{Plan, Shard};
use report::ERROR;
use stats::{FewestBlocks, Ranks};

/// Returns every cell of the shard in the order of running, then the totals and the warnings.
pub(crate) fn text(
    plan: &Plan,
    shard: Shard,
    jobs: u16,
    ranks: Ranks,
    warnings: &[String],
) -> String {
    let mut out = String::new();
    let study = &plan.study;
    let mut add_line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    add_line(format!("{}: {}", study.name, study.question));
    for network in &plan.networks {
        let link = &network.link;
        add_line(format!("  {:<16} {}", link.name, link.numbers()));
    }
    for request in plan.own_requests() {
        add_line(format!("  {request}"));
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
    if let Some(fewest) = stats::fewest_blocks(&plan.families(), ERROR, ranks) {
        let comparisons = plan.families().iter().sum();
        add_line(enough_blocks(comparisons, fewest, study.blocks as usize));
    }
    for warning in warnings {
        add_line(format!("warning: {warning}"));
    }
    out
}

/// Says at how many blocks there can be verdicts at all.
fn enough_blocks(comparisons: usize, fewest: FewestBlocks, planned: usize) -> String {
    let (all, one) = (fewest.all, fewest.one);
    let short = match planned {
        n if n < all => "; this plan cannot give any",
        n if n < one => "; this plan may be too short for some",
        _ => "",
    };
    let plural = if comparisons == 1 { "" } else { "s" };
    format!(
        "verdicts: {comparisons} comparison{plural}, which take at least {all} blocks if all are \
         clear and {one} if only one is; {planned} planned{short}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_is_too_short_is_warned_of() {
        let fewest = stats::fewest_blocks(&[4; 6], ERROR, Ranks::Fixed).unwrap();
        let line = |planned| enough_blocks(24, fewest, planned);
        assert!(line(5).ends_with("5 planned; this plan cannot give any"));
        assert!(line(6).ends_with("this plan may be too short for some"));
        assert!(line(10).ends_with("10 planned"));
    }
}
