//! What `--dry-run` prints: the plan, for people and for `grep`.

use std::fmt::Write as _;

use lab::{Plan, Shard};

/// Every cell of the shard in the order of running, then the sums.
pub(crate) fn text(plan: &Plan, shard: Shard, jobs: u16) -> String {
    let mut out = String::new();
    let study = &plan.study;
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("{}: {}", study.name, study.question));
    for network in &plan.networks {
        line(format!("  {:<16} {}", network.name, network.numbers()));
    }
    let (mut cells, mut total_ns) = (0_u64, 0_u64);
    for block in plan.shard(shard) {
        for cell in &block.cells {
            line(cell.planned.id.clone());
            cells += 1;
            total_ns += plan.cell_estimate_ns(block.network);
        }
    }
    let seconds = total_ns / 1_000_000_000 / u64::from(jobs.max(1));
    // Writing to a String cannot fail.
    let _cannot_fail = writeln!(
        out,
        "{cells} cells of {}, seed {}, about {} min {:02} s with {jobs} at a time",
        plan.cells().count(),
        study.seed,
        seconds / 60,
        seconds % 60
    );
    out
}
