//! Busy neighbours that start in mid-cell are noticed, and the record names the reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Child, Command, Stdio};

use common::command::{Running, until};
use common::{House, leaks, names};
use record::Outcome;

#[test]
fn busy_loops_in_mid_cell_disturb_that_cell() {
    let house = House::new();
    if common::program("taskset").is_none() {
        return testing::skip("taskset is missing, so nothing can keep every core busy");
    }
    house.small_study();
    // More than a second of calls, so that the loops have a cell to come into.
    let long = common::study::SMALL
        .replace("times = 2", "times = 60")
        .replace("blocks = 2", "blocks = 1");
    house.write("long.toml", &long);
    let args = ["run", "long.toml", "--out", "run", "--no-self-test"];
    let running = Running::start(house.commute(&args));
    until("the driver", || {
        let below = leaks::below(running.pid());
        below
            .iter()
            .any(|(_, name)| name.starts_with("commute-driver"))
    });
    let busy = Busy::everywhere();
    let cells = house.work().join("run/cells");
    until("the first record", || {
        cells.is_dir() && names(&cells).iter().any(|name| name.ends_with(".json"))
    });
    drop(busy);
    running.signal(rustix::process::Signal::INT);
    let said = running.end();

    let data = house.records("run");
    let first = data.cells().iter().min_by_key(|cell| cell.started_ns);
    let Outcome::Noisy { reasons } = &first.unwrap().outcome else {
        panic!("should be noisy: {:?}\n{said}", first.unwrap().outcome);
    };
    assert!(
        reasons
            .iter()
            .any(|r| r.contains("driver and server waited") && r.contains("ms for a core")),
        "{reasons:?}"
    );
    assert!(
        said.err.contains("noisy: driver and server waited"),
        "{said}"
    );
}

/// Busy loops on every core, two a core, ahead of others where the caller may.
struct Busy(Vec<Child>);

impl Busy {
    fn everywhere() -> Busy {
        let cores = std::thread::available_parallelism().unwrap().get();
        let niceness = if common::is_root() { "-20" } else { "0" };
        let children = (0..2 * cores).map(|n| {
            Command::new("nice")
                .args(["-n", niceness, "taskset", "-c", &(n / 2).to_string()])
                .args(["sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        });
        Busy(children.collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
