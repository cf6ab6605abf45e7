//! The output of `--dry-run`: what is compared on which networks, how long it takes, and what is wrong.

use std::collections::BTreeSet;
use std::path::Path;

use comfy_table::{Table, presets};
use lab::Plan;
use neutral::plain;
use record::{Arm, Run};
use report::ERROR;
use stats::FewestBlocks;

use super::job::Job;

/// Below the study's own requests, if there is JSON in them.
const CODING: &str = "  their JSON is encoded and decoded within the request by drivers with the capability `coding`, \
                      beforehand for others";

/// A setting of an arm, by the name that studies have for it.
type Setting = (&'static str, fn(&Arm) -> String);

/// Settings in which arms may differ, beside stack and protocol.
const SETTINGS: [Setting; 17] = [
    ("server", |arm| {
        arm.server
            .clone()
            .unwrap_or_else(|| lab::OWN_SERVER.to_owned())
    }),
    ("codec", |arm| arm.codec.clone()),
    ("security", |arm| arm.security.clone()),
    ("auth", |arm| shown(arm.auth.as_ref())),
    ("fault", |arm| shown(arm.fault.as_ref())),
    ("connections", |arm| shown(arm.connections.as_ref())),
    ("access", |arm| shown(arm.access.as_ref())),
    ("policy", |arm| shown(arm.policy.as_ref())),
    ("discovery", |arm| shown(arm.discovery.as_ref())),
    ("congestion", |arm| shown(arm.congestion.as_ref())),
    ("key", |arm| shown(arm.key.as_ref())),
    ("chain", |arm| shown(arm.chain.as_ref())),
    ("resumption", |arm| shown(arm.resumption.then_some("yes"))),
    ("chunk_bytes", |arm| shown(arm.chunk_bytes)),
    ("packet_threshold", |arm| shown(arm.packet_threshold)),
    ("time_threshold", |arm| shown(arm.time_threshold)),
    ("warmup_calls", |arm| {
        shown((arm.warmup_calls > 0).then_some(arm.warmup_calls))
    }),
];

/// Returns arms, networks, totals and warnings; with `lists_cells`, every cell of the shard in the order of
/// running, too.
pub(super) fn text(job: &Job, warnings: &[String], lists_cells: bool) -> String {
    let mut out = String::new();
    let (plan, shard, study) = (&job.plan, job.shard, &job.plan.study);
    // Texts of the study have no line feeds when they come here: only tables have several lines.
    let mut add = |text: String| {
        out.push_str(&neutral::lines(&text));
        out.push('\n');
    };
    add(plain(&format!("{}: {}", study.name, study.question)));
    add(String::new());
    let run = plan.head();
    add(arms(&run));
    add(String::new());
    add(networks(plan));
    add(String::new());
    add(groups(&run));
    add(String::new());
    // Where all arms send the same, the table above says it.
    for request in plan
        .own_requests()
        .iter()
        .filter(|request| request.contains("; "))
    {
        add(plain(&format!("  {request}")));
    }
    if run.arms.iter().any(|arm| arm.own_json) {
        add(CODING.to_owned());
    }
    let cells = || plan.shard(shard).flat_map(|block| &block.cells);
    if lists_cells {
        cells().for_each(|cell| add(plain(&cell.planned.id)));
        add(String::new());
    }
    let cells = cells().count();
    let seconds = plan.estimate_ns(shard, job.jobs) / 1_000_000_000;
    let all = plan.cells().count();
    let (seed, minutes, seconds) = (study.seed, seconds / 60, seconds % 60);
    let parallel = match job.jobs {
        1 => String::new(),
        n => format!(" with {n} in parallel"),
    };
    add(format!(
        "{cells} of {all} cells, seed {seed}, about {minutes} min {seconds:02} s{parallel}"
    ));
    if let Some(server) = &study.external {
        let requests = job.requests();
        add(plain(&format!("{} gets {requests}", server.url)));
    }
    for file in &job.outside_files {
        let file = shown_path(file);
        add(format!(
            "the study reads {file}, which is outside its folder"
        ));
    }
    if let Some(fewest) = stats::fewest_blocks(&plan.families(), ERROR, job.ranks) {
        let comparisons = plan.families().iter().sum();
        add(enough_blocks(comparisons, fewest, study.blocks as usize));
    }
    for warning in warnings {
        add(format!("warning: {warning}"));
    }
    out
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

/// Returns a path as it is, or in quotes with escapes if a terminal would act on it.
fn shown_path(path: &Path) -> String {
    let path = path.display().to_string();
    match path.contains(neutral::is_interpreted) {
        true => neutral::quoted(&path),
        false => path,
    }
}

/// Returns the arms with the settings in which they differ, and below them those that all have.
fn arms(run: &Run) -> String {
    let differs = |of: &fn(&Arm) -> String| {
        let values: BTreeSet<String> = run.arms.iter().map(of).collect();
        values.len() > 1
    };
    let (differing, common): (Vec<_>, Vec<_>) = SETTINGS.iter().partition(|(_, of)| differs(of));
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let names = differing.iter().map(|(name, _)| *name);
    table.set_header(
        ["arm", "stack", "protocol"]
            .into_iter()
            .chain(names)
            .chain([""]),
    );
    for arm in &run.arms {
        let role = match (arm.name == run.baseline, arm.same_as_baseline) {
            (true, _) => "baseline",
            (_, true) => "A/A: a copy of the baseline",
            _ => arm.role.as_deref().unwrap_or(""),
        };
        let first = [&arm.name, &arm.stack, &arm.protocol].map(String::clone);
        let settings = differing.iter().map(|(_, of)| of(arm));
        let cells = first.into_iter().chain(settings).chain([role.to_owned()]);
        table.add_row(cells.map(|cell| plain(&cell)));
    }
    let usual = Arm {
        codec: "json".to_owned(),
        security: "tls".to_owned(),
        ..Arm::default()
    };
    let of_all: Vec<String> = (common.iter())
        .filter_map(|(name, of)| {
            let value = of(run.arms.first()?);
            (value != of(&usual)).then(|| plain(&format!("{name} {value}")))
        })
        .collect();
    let mut text = table.trim_fmt();
    if !of_all.is_empty() {
        text += &format!("\n every arm: {}", of_all.join(", "));
    }
    text
}

/// Returns the groups of requests, and below them the measures that arms are compared in.
fn groups(run: &Run) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["group", "requests per cell", "each"]);
    for group in &run.groups {
        let requests = run
            .calls
            .iter()
            .filter(|call| call.group == group.name)
            .count();
        let requests = match &group.load {
            Some(load) => load.about(),
            None => requests.to_string(),
        };
        table.add_row([&group.name, &requests, &group.about].map(|cell| plain(cell)));
    }
    let measures = report::planned_measures(run);
    let labels = |decisive: bool| -> Vec<String> {
        let wanted = measures
            .iter()
            .filter(|measure| measure.decisive == decisive);
        wanted.map(|measure| plain(&measure.label)).collect()
    };
    let mut text = format!(
        "{}\n compared: {}",
        table.trim_fmt(),
        labels(true).join(", ")
    );
    let others = labels(false);
    if !others.is_empty() {
        text += &format!("; also shown: {}", others.join(", "));
    }
    text
}

fn networks(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["network", "numbers"]);
    for network in &plan.networks {
        let cells = [&network.link.name, &network.link.numbers()];
        table.add_row(cells.map(|cell| plain(cell)));
    }
    table.trim_fmt()
}

/// Returns a line on how many blocks are needed for any verdict.
fn enough_blocks(comparisons: usize, fewest: FewestBlocks, planned: usize) -> String {
    let (all, one) = (fewest.all, fewest.one);
    let short = match planned {
        n if n < all => "; too few for any verdict",
        n if n < one => "; perhaps too few for some",
        _ => "",
    };
    if comparisons == 1 {
        return format!("verdicts: 1 comparison needs {one} blocks; {planned} planned{short}");
    }
    format!(
        "verdicts: {comparisons} comparisons need {all} blocks if every difference is \
         clear-cut, {one} if only one is; {planned} planned{short}"
    )
}

#[cfg(test)]
mod tests {
    use stats::Ranks;

    use super::*;

    #[test]
    fn a_plan_that_is_too_short_is_warned_of() {
        let fewest = stats::fewest_blocks(&[4; 6], ERROR, Ranks::Fixed).unwrap();
        let line = |planned| enough_blocks(24, fewest, planned);
        assert!(line(5).ends_with("5 planned; too few for any verdict"));
        assert!(line(6).ends_with("perhaps too few for some"));
        assert!(line(10).ends_with("10 planned"));
    }
}
