//! The text of `--help` of every verb, and output into a closed pipe.

mod common;

use std::process::Command;

use common::{CommandOutput, Sandbox};

#[test]
fn help_matches_golden_files() {
    let sandbox = Sandbox::new();
    let verbs = [
        "", "run", "codec", "report", "compare", "findings", "doctor", "link", "networks", "serve",
        "stacks", "import",
    ];
    for verb in verbs {
        let mut command = sandbox.commute(&[]);
        command
            .args((!verb.is_empty()).then_some(verb))
            .arg("--help");
        // --help prints the values of environment variables.
        command.env_remove("COMMUTE_HOME");
        let output = CommandOutput::of(command).exits_with(0);
        let name = if verb.is_empty() { "commute" } else { verb };
        let golden = common::golden_path(&format!("help-{name}.txt"));
        testing::golden(golden, &output.stdout);
    }
    let help = sandbox.run(&["--help"]).exits_with(0);
    for verb in &verbs[1..] {
        let listed = help.stdout.contains(&format!("\n  {verb} "));
        assert!(listed, "{verb} is not listed: {help}");
    }
    // An internal verb.
    assert!(!help.stdout.contains("bench-init"), "{help}");
}

#[test]
fn broken_pipe_is_not_an_error() {
    let sandbox = Sandbox::new();
    let commute = env!("CARGO_BIN_EXE_commute");
    let script = "set -o pipefail; \"$0\" networks | head -1";
    let mut command = Command::new("bash");
    command
        .args(["-c", script, commute])
        .current_dir(sandbox.work());
    let output = CommandOutput::of(command).exits_with(0);
    assert_eq!(output.stdout.lines().count(), 1, "{output}");
    assert_eq!(output.stderr, "", "{output}");
}
