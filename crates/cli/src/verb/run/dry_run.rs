//! The output of `--dry-run`: what is compared on which networks, how long it takes, and what is wrong.

use comfy_table::{Table, presets};
use lab::{Plan, Shard};
use report::ERROR;
use stats::{FewestBlocks, Ranks};

/// Below the study's own requests, if there is JSON in them.
const CODING: &str = "  their JSON is encoded and decoded within the request by drivers with the capability `coding`, \
                      beforehand for others";

/// Returns arms, networks, totals and warnings; with `lists_cells`, every cell of the shard in the order of
/// running, too.
pub(crate) fn text(
    plan: &Plan,
    shard: Shard,
    jobs: u16,
    ranks: Ranks,
    warnings: &[String],
    lists_cells: bool,
) -> String {
    let mut out = String::new();
    let study = &plan.study;
    let mut add_line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    add_line(format!("{}: {}", study.name, study.question));
    add_line(String::new());
    add_line(arms(plan));
    add_line(String::new());
    add_line(networks(plan));
    add_line(String::new());
    for request in plan.own_requests() {
        add_line(format!("  {request}"));
    }
    if plan.arms().iter().any(|arm| arm.own_json) {
        add_line(CODING.to_owned());
    }
    let cells = || plan.shard(shard).flat_map(|block| &block.cells);
    if lists_cells {
        cells().for_each(|cell| add_line(cell.planned.id.clone()));
        add_line(String::new());
    }
    let cells = cells().count();
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
    if let Some(server) = &study.external {
        let requests = plan.requests(shard);
        add_line(format!(
            "{} gets at most {requests} requests, more where blocks are run again",
            server.url
        ));
    }
    if let Some(fewest) = stats::fewest_blocks(&plan.families(), ERROR, ranks) {
        let comparisons = plan.families().iter().sum();
        add_line(enough_blocks(comparisons, fewest, study.blocks as usize));
    }
    for warning in warnings {
        add_line(format!("warning: {warning}"));
    }
    out
}

fn arms(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["arm", "stack", "protocol", "server", ""]);
    let baseline = &plan.study.arms[plan.study.baseline].name;
    for arm in plan.arms() {
        let role = match (arm.name == *baseline, arm.same_as_baseline) {
            (true, _) => "baseline",
            (_, true) => "A/A: a copy of the baseline",
            _ => "",
        };
        let server = arm.server.as_deref().unwrap_or(lab::OWN_SERVER);
        table.add_row([&arm.name, &arm.stack, &arm.protocol, server, role]);
    }
    table.trim_fmt()
}

fn networks(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["network", "numbers"]);
    for network in &plan.networks {
        table.add_row([&network.link.name, &network.link.numbers()]);
    }
    table.trim_fmt()
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
