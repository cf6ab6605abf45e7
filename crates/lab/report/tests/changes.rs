//! Two invented runs of one study, compared.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use std::path::Path;

use invented::{Invented, data, quickstart, run};
use record::RunData;
use report::{ArmChange, ChangeVerdict, RunChanges, compare_runs};
use testing::{HOSTILE_NAME, INTERPRETED};

const NETWORKS: [&str; 2] = ["true-metro", "4g-tether"];

fn old() -> RunData {
    data(&quickstart(), &NETWORKS, 10, 1)
}

/// Returns a run in which quinn's first requests have become slower and its image faster.
fn new() -> RunData {
    let mut arms = quickstart();
    (arms[2].first_ms, arms[2].bulk_ms) = (300.0, 900.0);
    of(&arms, |run| {
        run.host.kernel = "0.0.1-invented".into();
        run.started_unix_ns = 1_700_000_000_000_000_000;
    })
}

fn of(arms: &[Invented], change: impl Fn(&mut record::Run)) -> RunData {
    let mut run = run(arms, &NETWORKS, 12);
    change(&mut run);
    let cells = invented::cells(&run, arms, 5);
    RunData::new(run, cells).unwrap()
}

fn find<'a>(changes: &'a RunChanges, arm: &str, measure: &str) -> &'a ArmChange {
    let found = |c: &&ArmChange| c.arm == arm && c.measure == measure && c.network == "4g-tether";
    changes.changes.iter().find(found).unwrap()
}

#[test]
fn arms_are_compared_with_themselves() {
    let changes = compare_runs(&old(), &new()).unwrap();
    let first = find(&changes, "quinn h3", "first request");
    assert_eq!(first.verdict, ChangeVerdict::Slower);
    let difference = first.difference.value.unwrap();
    assert!((33e6..37e6).contains(&difference), "{difference}");
    assert!(first.difference.low.unwrap() > 30e6, "{first:?}");
    assert_eq!((first.old.blocks, first.new.blocks), (10, 12));
    assert_eq!(
        find(&changes, "quinn h3", "image").verdict,
        ChangeVerdict::Faster
    );
    for measure in ["first request", "image"] {
        let same = find(&changes, "hyper h2", measure);
        assert_eq!(same.verdict, ChangeVerdict::NoDifference, "{same:?}");
    }
    // Neither copies of the baseline nor arms that were not measured.
    let arms = |name: &str| changes.changes.iter().filter(|c| c.arm == name).count();
    assert_eq!((arms("hyper h2 again"), arms("libcurl h3")), (0, 0));
    // The old run against the new one.
    let back = compare_runs(&new(), &old()).unwrap();
    let first = find(&back, "quinn h3", "first request");
    assert_eq!(first.verdict, ChangeVerdict::Faster);
    assert_eq!(first.difference.value.unwrap(), -difference);
}

#[test]
fn what_else_differs_is_warned_of() {
    let warnings = compare_runs(&old(), &new()).unwrap().warnings;
    let expected = [
        "the kernel differs: 0.0.0-invented and 0.0.1-invented",
        "both runs have seed 7 and so the same losses: what they have in common may be theirs",
    ];
    assert_eq!(warnings, expected);
    let arms = quickstart();
    let other = of(&arms[..3], |run| {
        run.seed = 8;
        run.commute = "0.0.1-invented".into();
        run.host.cores = 4;
        run.settings.jobs = 1;
        run.timeout_ns = 5_000_000_000;
        run.arms[2].codec = "msgpack".into();
        run.networks[0].toml = "# other\n".into();
        run.calls.pop();
    });
    let expected = [
        "commute's version differs: 0.0.0-invented and 0.0.1-invented",
        "the processor differs: Invented with 2 cores and Invented with 4 cores",
        "--jobs differs: 2 and 1",
        "the timeout differs: 10 s and 5 s",
        "the plan differs: the runs did not make the same requests",
        "only in the old run: arm libcurl h1, arm libcurl h2, arm libcurl h3",
        "the plan differs: arm quinn h3 was set up otherwise",
        "the plan differs: network true-metro had other numbers",
    ];
    assert_eq!(compare_runs(&old(), &other).unwrap().warnings, expected);
    let mut run = old().run().clone();
    run.study = "another".into();
    let another = RunData::new(run, old().cells().to_vec()).unwrap();
    let error = compare_runs(&old(), &another).unwrap_err();
    assert_eq!(
        error,
        "these are runs of different studies, invented and another"
    );
}

#[test]
fn one_core_is_one() {
    let one = of(&quickstart(), |run| run.host.cores = 1);
    let warnings = compare_runs(&old(), &one).unwrap().warnings;
    assert!(
        warnings.contains(
            &"the processor differs: Invented with 2 cores and Invented with 1 core".to_owned()
        ),
        "{warnings:?}"
    );
}

#[test]
fn a_run_compared_with_itself_is_said_to_be_the_same() {
    let warnings = compare_runs(&old(), &old()).unwrap().warnings;
    assert_eq!(
        warnings,
        ["both folders hold the same run: nothing can have changed"]
    );
    let other = data(&quickstart(), &NETWORKS, 10, 2);
    assert_eq!(old().run(), other.run());
    let warnings = compare_runs(&old(), &other).unwrap().warnings;
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn layouts() {
    let golden = |name: &str, text: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        testing::golden(path, text);
    };
    let changes = compare_runs(&old(), &new()).unwrap();
    golden("tests/golden/changes-100.txt", &changes.human(100));
    golden("tests/golden/changes.md", &changes.markdown());
    let schema = serde_json::to_string_pretty(&RunChanges::schema()).unwrap() + "\n";
    golden("../../../docs/compare.schema.json", &schema);
    let json: serde_json::Value = serde_json::from_str(&changes.json()).unwrap();
    assert_eq!(json["changes"][0]["verdict"], "no_difference");
}

#[test]
fn names_do_nothing_on_a_terminal_and_in_a_browser() {
    let hostile = |seed: u64| {
        let mut arms = quickstart();
        arms[2].name = HOSTILE_NAME;
        let mut run = run(&arms, &[HOSTILE_NAME, "4g-tether"], 10);
        for text in [&mut run.study, &mut run.host.kernel, &mut run.host.cpu] {
            *text = format!("{HOSTILE_NAME} (invented)");
        }
        let cells = invented::cells(&run, &arms, seed);
        RunData::new(run, cells).unwrap()
    };
    let changes = compare_runs(&hostile(1), &hostile(5)).unwrap();
    let (human, markdown) = (changes.human(100), changes.markdown());
    for text in [&human, &markdown] {
        assert!(!text.contains(INTERPRETED), "{text}");
    }
    assert!(human.contains("=1+1<img"), "{human}");
    testing::check_harmless("compare", &testing::rendered(&markdown));
}
