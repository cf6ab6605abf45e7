//! The text of `--help` of every verb, as manual pages too, completions, and output into a closed pipe.

mod common;

use std::process::Command;

use common::{CommandOutput, Sandbox};

#[test]
fn help_matches_golden_files() {
    let sandbox = Sandbox::new();
    let verbs = [
        "",
        "run",
        "init",
        "codec",
        "report",
        "compare",
        "why",
        "findings",
        "studies",
        "doctor",
        "link",
        "networks",
        "trace",
        "serve",
        "stacks",
        "import",
        "completions",
        "man",
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
        // It makes pages of this repository, which users do not have.
        assert_eq!(listed, *verb != "findings", "{verb}: {help}");
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

#[test]
fn manual_and_completions_have_the_public_verbs() {
    let sandbox = Sandbox::new();
    sandbox.run(&["man", "pages"]).exits_with(0);
    let pages = common::file_names(&sandbox.work().join("pages"));
    let has = |name: &str| pages.iter().any(|page| page == name);
    assert!(
        has("commute.1") && has("commute-stacks-install.1"),
        "{pages:?}"
    );
    assert!(!has("commute-bench-init.1"), "{pages:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&["completions", shell]).exits_with(0);
        let script = script.stdout_contains("quick");
        assert!(!script.stdout.contains("bench-init"), "{shell}: {script}");
    }
}
