//! The resources that client and server use over time are in every record.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::command::CommandOutput;
use common::study::{SMALL_STUDY, assert_complete, counted_cells};
use common::{Sandbox, users};

/// The samples are taken a little apart from the readings of the whole.
const SEEN_SHARE_MIN: f64 = 0.8;

#[test]
fn cell_of_a_second_has_about_ten_samples_that_add_up_to_its_cost() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    // 1.25 MB at 10 Mbit/s.
    let study = SMALL_STUDY.replace(
        "call = \"echo\"\ntimes = 2",
        "get = \"file\"\nbytes = 1250000",
    );
    sandbox.write("second.toml", &study);
    // An ordinary user sees no kernel threads, which are part of a cell's cost but of no sample.
    let user = *users().last().unwrap();
    let args = ["run", "second.toml", "--out", "run", "--no-self-test"];
    CommandOutput::of(sandbox.commute_as(user, &args)).exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let timeline = cell.cost.timeline.as_ref().unwrap();
        let shown = format!("{} ns: {timeline:?}, {:?}", cell.took_ns, cell.cost);
        let samples = &timeline.samples;
        // Where the machine is busy, some are missed.
        let due = cell.took_ns as usize / 100_000_000;
        assert!(due >= 9, "{shown}");
        assert!((due / 2..=due + 2).contains(&samples.len()), "{shown}");
        assert!(samples.is_sorted_by_key(|s| s.at_ns), "{shown}");
        assert!(samples.last().unwrap().at_ns >= cell.took_ns, "{shown}");
        let ends = [
            (
                samples.iter().map(|s| s.client_cpu_ns).sum::<u64>(),
                cell.cost.client_cpu_ns,
            ),
            (
                samples.iter().map(|s| s.server_cpu_ns).sum::<u64>(),
                cell.cost.server_cpu_ns,
            ),
        ];
        for (seen, cost) in ends {
            assert!(seen <= cost, "{shown}");
            assert!(seen as f64 >= SEEN_SHARE_MIN * cost as f64, "{shown}");
        }
        for sample in samples {
            assert!(sample.client_rss_bytes > 1 << 20, "{shown}");
            assert!(sample.server_rss_bytes > 1 << 20, "{shown}");
        }
        // Half of a core would be no sampling.
        assert!(timeline.sampler_cpu_ns < cell.took_ns / 2, "{shown}");
    }
}
