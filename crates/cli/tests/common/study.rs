//! Studies made for tests, and their records.

use std::path::{Path, PathBuf};

use record::{Cell, CellStatus, RunData, Store};

use super::House;

/// A network of 20 ms and 10 Mbit/s, on which a busy machine still measures.
pub const GENTLE: &str = r#"
about = "gentle"
source = "made up, for tests"
[down]
rate_kbps = 10000
queue_ms = 100
delay_ms = 10
[up]
rate_kbps = 10000
queue_ms = 100
delay_ms = 10
"#;

/// A study of hyper over HTTP/2 against itself: two calls a cell.
pub const SMALL: &str = r#"
name = "small"
question = "does it run?"
networks = ["gentle.toml"]
baseline = "one"
blocks = 2
seed = 3
timeout_s = 5
[[arm]]
name = "one"
stack = "hyper"
protocol = "h2"
[[arm]]
name = "two"
stack = "hyper"
protocol = "h2"
[[step]]
call = "echo"
times = 2
"#;

impl House {
    /// Gives the home a stack: its name and its command, `{bin}` and `{stack}` apart as in
    /// every manifest.
    pub fn stack(&self, name: &str, protocols: &str, command: &[&str]) {
        let dir = self.home().join("stacks").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let command = command
            .iter()
            .map(|part| format!("{part:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        let manifest = format!(
            "[stack]\nneeds = \"make {name}\"\n\n[[driver]]\nname = \"{name}\"\n\
             command = [{command}]\nprotocols = [{protocols}]\n"
        );
        std::fs::write(dir.join("stack.toml"), manifest).unwrap();
    }

    /// The stack that most tests measure, and [`SMALL`] with its network.
    pub fn small_study(&self) -> PathBuf {
        super::driver("commute-driver-hyper");
        self.stack("hyper", r#""h1", "h2""#, &["{bin}/commute-driver-hyper"]);
        self.write("gentle.toml", GENTLE);
        self.write("small.toml", SMALL)
    }

    /// The records of a run in the working folder.
    pub fn records(&self, run: &str) -> RunData {
        records(&self.work().join(run))
    }
}

pub fn records(dir: &Path) -> RunData {
    Store::open(dir).unwrap().read().unwrap()
}

/// The cells that count, in the plan's order.
pub fn last(data: &RunData) -> Vec<&Cell> {
    data.with_status()
        .into_iter()
        .filter(|(_, status)| *status == CellStatus::Counted)
        .map(|(cell, _)| cell)
        .collect()
}

/// Asserts that each cell of the plan has exactly one record that counts.
#[track_caller]
pub fn whole(data: &RunData) {
    let mut planned: Vec<&str> = data.run().plan.iter().map(|p| p.id.as_str()).collect();
    let mut counted: Vec<&str> = last(data).iter().map(|c| c.id.as_str()).collect();
    planned.sort_unstable();
    counted.sort_unstable();
    assert_eq!(planned, counted);
}
