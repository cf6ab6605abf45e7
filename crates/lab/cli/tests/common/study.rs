//! A network and a study for tests, and helpers that read a run's records.

use std::path::{Path, PathBuf};

use record::{Cell, CellStatus, RunData, Store};

use super::Sandbox;

/// A network slow enough (20 ms, 10 Mbit/s) that even a busy machine emulates it well.
pub const BASIC_NETWORK: &str = r#"
about = "basic"
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

/// A study that compares hyper over HTTP/2 with itself: two requests per cell, four cells.
pub const SMALL_STUDY: &str = r#"
name = "small"
question = "does it run?"
networks = ["basic.toml"]
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

impl Sandbox {
    /// Writes the manifest of a stack with one driver. `protocols` is the content of a TOML array;
    /// `command` may contain `{commute}` and `{stack}`, as in every manifest.
    pub fn add_stack(&self, name: &str, protocols: &str, command: &[&str]) {
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

    /// Adds the stack hyper, and writes `basic.toml` and `small.toml`.
    pub fn add_small_study(&self) -> PathBuf {
        self.add_stack("hyper", r#""h1", "h2""#, &["{commute}", "driver", "hyper"]);
        self.write("basic.toml", BASIC_NETWORK);
        self.write("small.toml", SMALL_STUDY)
    }

    /// Reads the records of a run in the working directory.
    pub fn records(&self, run: &str) -> RunData {
        records(&self.work().join(run))
    }
}

/// Reads a run, which fails if a record is incomplete.
pub fn records(run: &Path) -> RunData {
    Store::open(run).unwrap().read().unwrap()
}

/// Returns the number of complete records, 0 if the run has none yet.
pub fn record_count(run: &Path) -> usize {
    let cells = run.join("cells");
    if !cells.is_dir() {
        return 0;
    }
    super::file_names(&cells)
        .iter()
        .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
        .count()
}

/// Returns the cells that count, in the plan's order.
pub fn counted_cells(data: &RunData) -> Vec<&Cell> {
    data.with_status()
        .into_iter()
        .filter(|(_, status)| *status == CellStatus::Counted)
        .map(|(cell, _)| cell)
        .collect()
}

/// Makes the cells of a run those of another machine.
pub fn move_to_another_machine(run: &Path) {
    for cell in records(run).cells() {
        let file = run.join("cells").join(cell.file_name());
        let boot = &cell.machine.as_ref().unwrap().boot;
        let text = std::fs::read_to_string(&file).unwrap();
        // Of the same size, which servers may keep.
        std::fs::write(file, text.replace(boot, &"0".repeat(boot.len()))).unwrap();
    }
}

/// Asserts that each cell of the plan has exactly one record that counts.
#[track_caller]
pub fn assert_complete(data: &RunData) {
    let mut planned: Vec<&str> = data.run().plan.iter().map(|p| p.id.as_str()).collect();
    let mut counted: Vec<&str> = counted_cells(data).iter().map(|c| c.id.as_str()).collect();
    planned.sort_unstable();
    counted.sort_unstable();
    assert_eq!(planned, counted);
}
