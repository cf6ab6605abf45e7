//! Requests whose place on their connection makes them take longer are populations of their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{Invented, arm, cells, run};
use record::RunData;
use report::{ChangeVerdict, Measure, Part, Summary, compare_runs, human, markdown, summarise};
use stats::Verdict;

/// Ids of the second request on each of three connections, which have five requests.
const SECOND: [u32; 3] = [2, 7, 12];

/// Returns two arms with equal times, but that requests of the other arm take so many times as long, in blocks from
/// `from` on.
fn with_factors(factor: impl Fn(u32) -> u64, from: u32, blocks: u32) -> RunData {
    let same = |name| arm(name, "h2", 383.0, 133.0, 1_800.0);
    let arms: [Invented; 2] = [same("base"), same("other")];
    let run = run(&arms, &["true-metro"], blocks);
    let mut cells = cells(&run, &arms, 1);
    let of_other = cells.iter_mut().filter(|cell| cell.arm == "other");
    for cell in of_other.filter(|cell| cell.block >= from) {
        for call in &mut cell.calls {
            call.end_ns *= factor(call.id);
        }
    }
    RunData::new(run, cells).unwrap()
}

/// Returns two arms; the second is slow in requests with these ids.
fn slow_at(ids: &[u32], from: u32, blocks: u32) -> RunData {
    with_factors(|id| if ids.contains(&id) { 3 } else { 1 }, from, blocks)
}

fn measures(summary: &Summary) -> &[Measure] {
    &summary.networks[0].arms[1].measures
}

fn labels(summary: &Summary) -> Vec<&str> {
    let by_request = measures(summary).iter().filter(|m| m.group == "echo");
    by_request.map(|m| m.label.as_str()).collect()
}

#[test]
fn the_second_request_has_a_verdict_of_its_own() {
    let data = slow_at(&SECOND, 0, 14);
    let summary = summarise(&data);
    let expected = [
        "first request",
        "second request",
        "warm requests",
        "all 15 requests",
    ];
    assert_eq!(labels(&summary), expected);
    let [_, second, warm, ..] = measures(&summary) else {
        panic!("{:?}", labels(&summary));
    };
    assert_eq!((second.part, second.decisive), (Part::Place, true));
    assert_eq!((second.calls, warm.calls), (14 * 3, 14 * 9));
    let verdict = |measure: &Measure| measure.comparison.as_ref().unwrap().verdict;
    assert_eq!(verdict(second), Verdict::Slower);
    assert_eq!(verdict(warm), Verdict::NoDifference);
    assert_eq!((&second.mean, &warm.mean), (&None, &None));
    for text in [human(&summary, 400, false), markdown(&summary, &data)] {
        assert!(text.contains("second request"), "{text}");
    }
    assert!(report::html(&summary, &data).contains("second request"));
    // Whoever reads the answer must not take the slow arm for as good as the other.
    assert_eq!(summary.answer, "Use base on true-metro.");
}

#[test]
fn one_block_of_many_makes_no_population() {
    let summary = summarise(&slow_at(&SECOND, 13, 14));
    assert_eq!(
        labels(&summary),
        ["first request", "warm requests", "all 15 requests"]
    );
    // Eight places of two arms are eight tests: of 5 %, each may be wrong once in 160, which takes nine blocks.
    let blocks = |n| labels(&summarise(&slow_at(&SECOND, 0, n))).len();
    assert_eq!([5, 8, 9].map(blocks), [3, 3, 4]);
}

/// The third of four requests is compared with the others, and not with the slow second one.
#[test]
fn one_slow_place_of_three_takes_no_other_with_it() {
    let same = |name| arm(name, "h2", 383.0, 133.0, 1_800.0);
    let arms: [Invented; 2] = [same("base"), same("other")];
    let mut run = run(&arms, &["true-metro"], 14);
    // Four requests on each connection.
    run.calls.retain(|call| call.id % 5 != 0);
    let mut cells = cells(&run, &arms, 1);
    for cell in &mut cells {
        cell.calls.retain(|call| call.id % 5 != 0);
        let of_other = cell.arm == "other";
        for call in cell
            .calls
            .iter_mut()
            .filter(|call| SECOND.contains(&call.id))
        {
            call.end_ns *= if of_other { 3 } else { 1 };
        }
    }
    let summary = summarise(&RunData::new(run, cells).unwrap());
    let expected = [
        "first request",
        "second request",
        "warm requests",
        "all 12 requests",
    ];
    assert_eq!(labels(&summary), expected);
}

#[test]
fn requests_that_are_not_alike_stay_together() {
    let by_place = |id: u32| {
        if id < 16 {
            u64::from((id - 1) % 5) + 1
        } else {
            1
        }
    };
    let summary = summarise(&with_factors(by_place, 0, 14));
    assert_eq!(
        labels(&summary),
        ["first request", "warm requests", "all 15 requests"]
    );
}

#[test]
fn the_mean_stands_where_the_median_hides_slow_requests() {
    // One of three at each of three places, so that no place differs.
    let data = slow_at(&[2, 8, 14], 0, 14);
    let summary = summarise(&data);
    assert_eq!(
        labels(&summary),
        ["first request", "warm requests", "all 15 requests"]
    );
    let warm = &measures(&summary)[1];
    let (median, mean) = (warm.time.as_ref().unwrap(), warm.mean.as_ref().unwrap());
    let ratio = mean.value.unwrap() / median.value.unwrap();
    assert!((1.48..1.52).contains(&ratio), "{ratio}");
    for text in [human(&summary, 400, false), markdown(&summary, &data)] {
        assert!(
            text.contains(", mean 199") || text.contains(", mean 200"),
            "{text}"
        );
    }
}

#[test]
fn two_runs_are_compared_in_the_same_requests() {
    let (old, new) = (slow_at(&[], 0, 14), slow_at(&SECOND, 0, 14));
    let changes = compare_runs(&old, &new).unwrap().changes;
    let of = |measure: &str| {
        let mut of_other = changes.iter().filter(|c| c.arm == "other");
        of_other.find(|c| c.measure == measure).unwrap().verdict
    };
    assert_eq!(of("second request"), ChangeVerdict::Slower);
    assert_eq!(of("warm requests"), ChangeVerdict::NoDifference);
}
