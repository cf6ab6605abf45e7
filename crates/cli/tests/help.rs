//! The surface as text: `--help` of each verb. `COMMUTE_GOLDEN=write` rewrites it.

mod common;

use common::{House, Said};
use std::process::Command;

#[test]
fn help_is_as_published() {
    let house = House::new();
    let verbs = [
        "", "run", "codec", "report", "doctor", "link", "networks", "serve", "stacks", "import",
    ];
    for verb in verbs {
        let mut command = house.commute(&[]);
        command
            .args((!verb.is_empty()).then_some(verb))
            .arg("--help");
        // A value of the environment would be printed.
        command.env_remove("COMMUTE_HOME");
        let said = Said::of(command).code(0);
        let name = if verb.is_empty() { "commute" } else { verb };
        testing::golden(common::golden(&format!("help-{name}.txt")), &said.out);
    }
    let all = house.run(&["--help"]).code(0);
    for verb in &verbs[1..] {
        assert!(all.out.contains(&format!("\n  {verb} ")), "{verb}: {all}");
    }
    assert!(!all.out.contains("bench-init"), "{all}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let house = House::new();
    let commute = env!("CARGO_BIN_EXE_commute");
    let mut pipe = Command::new("bash");
    let script = "set -o pipefail; \"$0\" networks | head -1";
    pipe.args(["-c", script, commute]).current_dir(house.work());
    let said = Said::of(pipe).code(0);
    assert_eq!(said.out.lines().count(), 1, "{said}");
    assert_eq!(said.err, "", "{said}");
}
