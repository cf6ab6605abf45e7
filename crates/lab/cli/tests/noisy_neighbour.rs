//! Busy loops that start during a cell are detected, and recorded as the reason for its noise.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Child, Command, Stdio};

use common::Sandbox;
use common::command::{Running, wait_until};
use common::process::has_driver;
use common::study::record_count;
use record::Outcome;

#[test]
fn busy_loops_during_a_cell_make_it_noisy() {
    let sandbox = Sandbox::new();
    if common::find_program("taskset").is_none() {
        return testing::skip("taskset is missing, so nothing can keep every core busy");
    }
    sandbox.add_small_study();
    // 60 requests of 20 ms take more than a second, so that the loops start during the first cell.
    let long = common::study::SMALL_STUDY
        .replace("times = 2", "times = 60")
        .replace("blocks = 2", "blocks = 1");
    sandbox.write("long.toml", &long);
    let args = ["run", "long.toml", "--out", "run", "--no-self-test"];
    let mut command = sandbox.commute(&args);
    command.env_remove("COMMUTE_TEST_SHARES_MACHINE");
    let running = Running::start(command);
    wait_until("the driver", || has_driver(running.pid()));
    let loops = BusyLoops::start();
    let run = sandbox.work().join("run");
    wait_until("the first record", || record_count(&run) > 0);
    drop(loops);
    running.signal(rustix::process::Signal::INT);
    let output = running.finish();

    let data = sandbox.records("run");
    let first = data.cells().iter().min_by_key(|cell| cell.started_ns);
    let outcome = &first.unwrap().outcome;
    let Outcome::Noisy { reasons } = outcome else {
        panic!("{outcome:?} should be noisy\n{output}");
    };
    assert!(
        reasons
            .iter()
            .any(|r| r.contains("other programs took") && r.contains("% of the CPU")),
        "{reasons:?}"
    );
    output.stderr_contains("noisy: other programs took");
}

/// Two busy loops per core. With a higher priority than the cell's they would keep it from ending.
struct BusyLoops(Vec<Child>);

impl BusyLoops {
    fn start() -> BusyLoops {
        let cores = std::thread::available_parallelism().unwrap().get();
        let children = (0..2 * cores).map(|n| {
            Command::new("taskset")
                .args(["-c", &(n / 2).to_string()])
                .args(["sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        });
        BusyLoops(children.collect())
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
