//! The output of `--dry-run`: one line per cell, for people and for `grep`.

use lab::{Plan, Shard};

/// Returns every cell of the shard in the order of running, then the totals.
pub(crate) fn text(plan: &Plan, shard: Shard, jobs: u16) -> String {
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
    let (mut cells, mut total_ns) = (0_u64, 0_u64);
    for block in plan.shard(shard) {
        for cell in &block.cells {
            add_line(cell.planned.id.clone());
            cells += 1;
            total_ns += plan.cell_estimate_ns(block.network);
        }
    }
    let seconds = total_ns / 1_000_000_000 / u64::from(jobs.max(1));
    let all = plan.cells().count();
    let (seed, minutes, seconds) = (study.seed, seconds / 60, seconds % 60);
    out += &format!("{cells} of {all} cells, seed {seed}, about {minutes} min {seconds:02} s");
    out += &match jobs {
        1 => "\n".to_owned(),
        n => format!(" with {n} in parallel\n"),
    };
    out
}
