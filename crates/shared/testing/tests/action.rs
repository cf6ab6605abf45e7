//! Runs the steps of the GitHub action (`.github/actions/commute`) in a hostile pull request, with stand-ins for programs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOKEN: &str = "SECRET-token";

/// Logs the files with which rustup and cargo let a folder choose the programs that they start.
const CARGO: &str = r#"
echo "cargo in $PWD" >>"$LOG"
folder=$PWD
while [ "$folder" != / ]; do
    for file in rust-toolchain rust-toolchain.toml .cargo/config .cargo/config.toml; do
        [ ! -e "$folder/$file" ] || echo "cargo reads $folder/$file" >>"$LOG"
    done
    folder=$(dirname "$folder")
done
"#;
const SUDO: &str = r#"
echo "sudo in $PWD" >>"$LOG"
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
"#;
const COMMUTE: &str = r#"
echo "commute $1 in $PWD" >>"$LOG"
echo answer
cargo build
"#;
const GH: &str = r#"
echo "gh of the pull request has $GH_TOKEN" >>"$LOG"
"#;

/// One step of the action.
#[derive(Default)]
struct Step {
    name: String,
    folder: Option<String>,
    shell: String,
    env: BTreeMap<String, String>,
    script: String,
    /// Terms that must all hold.
    conditions: Vec<String>,
}

/// Reads the steps of the action, whose file has the few forms of YAML that are matched here.
fn steps(text: &str) -> Vec<Step> {
    let (_, text) = text.split_once("\n  steps:\n").unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut block = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("    - name: ") {
            let name = name.to_owned();
            steps.push(Step {
                name,
                ..Step::default()
            });
            continue;
        }
        let step = steps.last_mut().unwrap();
        if let Some(inner) = line.strip_prefix("        ") {
            match block {
                "env" => {
                    let (key, value) = inner.split_once(": ").unwrap();
                    step.env.insert(key.to_owned(), value.to_owned());
                }
                "run" => step.script += &format!("{inner}\n"),
                _ => panic!("unknown block: {line}"),
            }
            continue;
        }
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        block = "";
        match line.split_once(':').unwrap() {
            ("run", " |") => block = "run",
            ("run", script) => step.script = script.trim().trim_matches('\'').to_owned(),
            ("env", "") => block = "env",
            ("working-directory", folder) => step.folder = Some(folder.trim().to_owned()),
            ("shell", shell) => step.shell = shell.trim().to_owned(),
            ("if", condition) => {
                let inner = condition.trim().strip_prefix("${{").unwrap();
                let inner = inner.strip_suffix("}}").unwrap();
                step.conditions = inner
                    .split("&&")
                    .map(|term| term.trim().to_owned())
                    .collect();
            }
            _ => panic!("unknown key: {line}"),
        }
    }
    steps
}

fn program(file: &Path, script: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the value of an expression's operand: a text in quotes, or what it names.
fn operand(text: &str, expressions: &[(&str, &str)]) -> String {
    let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    let named = || expressions.iter().find(|(name, _)| *name == text);
    match quoted {
        Some(quoted) => quoted.to_owned(),
        None => named()
            .unwrap_or_else(|| panic!("unknown: {text}"))
            .1
            .to_owned(),
    }
}

/// Returns whether a term of a step's condition holds.
fn holds(term: &str, expressions: &[(&str, &str)]) -> bool {
    let operand = |text: &str| operand(text.trim(), expressions);
    if let Some((a, b)) = term.split_once("==") {
        return operand(a) == operand(b);
    }
    if let Some((a, b)) = term.split_once("!=") {
        return operand(a) != operand(b);
    }
    assert_eq!(term, "!cancelled()", "unknown condition");
    true
}

/// Returns what the programs of the steps that run have logged, by step. `records` is that input of the action.
fn logs(dir: &Path, records: &str) -> BTreeMap<String, String> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let [action, workspace, tools] =
        ["action/.github/actions/commute", "workspace", "tools"].map(|name| dir.join(name));
    fs::create_dir_all(workspace.join(".cargo")).unwrap();
    for name in ["commute", "comment"] {
        let (from, to) = (
            repository.join(".github/actions").join(name),
            action.with_file_name(name),
        );
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    let text = fs::read_to_string(action.join("action.yml")).unwrap();
    let toolchain = "[toolchain]\npath = \"evil\"\n";
    fs::write(workspace.join("rust-toolchain.toml"), toolchain).unwrap();
    let config = "[build]\nrustc-wrapper = \"evil/bin/rustc\"\n";
    fs::write(workspace.join(".cargo/config.toml"), config).unwrap();
    for name in ["gh", "bash"] {
        program(&workspace.join("node_modules/.bin").join(name), GH);
    }
    for (name, script) in [
        ("cargo", CARGO),
        ("rustup", CARGO),
        ("sudo", SUDO),
        ("sysctl", ""),
        ("commute", COMMUTE),
    ] {
        program(&tools.join(name), script);
    }
    let mut path = vec![workspace.join("node_modules/.bin"), tools];
    path.extend(["/usr/bin", "/bin"].map(PathBuf::from));
    let path = std::env::join_paths(path).unwrap();
    let expressions = [
        ("github.action_path", action.to_str().unwrap()),
        ("inputs.stacks", "jvm curl"),
        ("inputs.study", "studies/checkout.toml"),
        ("inputs.arguments", ""),
        ("inputs.name", "commute"),
        ("inputs.records", records),
        ("inputs.root", "false"),
        ("inputs.shard", ""),
        ("inputs.token", TOKEN),
        ("github.event.pull_request.number", "7"),
        ("github.event_name", "pull_request"),
    ];
    let value = |text: &str| {
        let mut text = text.to_owned();
        for (name, value) in expressions {
            text = text.replace(&format!("${{{{ {name} }}}}"), value);
        }
        assert!(!text.contains("${{"), "unknown expression: {text}");
        text
    };
    let mut logs = BTreeMap::new();
    for step in steps(&text) {
        if !step.conditions.iter().all(|term| holds(term, &expressions)) {
            continue;
        }
        let log = dir.join("log");
        fs::write(&log, "").unwrap();
        let folder = step.folder.as_deref().map(value);
        let is_comment = step.env.contains_key("GH_TOKEN");
        // A runner looks `bash` up on the workflow's path, which only matters to the step with a secret.
        let shell = match step.shell.split_once(' ') {
            None if !is_comment => Path::new("/bin/bash").to_owned(),
            None => workspace.join("node_modules/.bin").join(&step.shell),
            Some((shell, _)) => PathBuf::from(shell),
        };
        let output = Command::new(shell)
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(&step.script)
            .current_dir(folder.map_or(workspace.clone(), PathBuf::from))
            .env_clear()
            .env("PATH", &path)
            .env("LOG", &log)
            .env("GITHUB_ACTION_PATH", &action)
            .env("GITHUB_REPOSITORY", "owner/app")
            .env("GITHUB_STEP_SUMMARY", dir.join("summary"))
            .env("GITHUB_WORKSPACE", &workspace)
            .env("RUNNER_TEMP", dir)
            // An installed gh reaches nothing.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .envs(step.env.iter().map(|(key, text)| (key, value(text))))
            .output()
            .unwrap();
        assert!(
            output.status.success() || is_comment,
            "{}: {output:?}",
            step.name
        );
        logs.insert(step.name, fs::read_to_string(&log).unwrap());
    }
    logs
}

#[test]
fn a_pull_request_chooses_no_program() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let shards = dir.join("shards");
    fs::create_dir_all(shards.join("1")).unwrap();
    let merged = logs(&dir, shards.to_str().unwrap());
    let logs = logs(&dir, "");
    let action = dir.join("action/.github/actions/commute");
    assert_eq!(
        logs["Install commute"],
        format!("cargo in {}\n", action.display())
    );
    for step in ["Install stacks", "Allow user namespaces"] {
        assert!(
            logs[step].starts_with(&format!("sudo in {}\n", action.display())),
            "{logs:?}"
        );
    }
    let study = &logs["Run the study"];
    assert!(study.starts_with("commute run in "), "{study}");
    assert!(
        merged["Report on the shards"].starts_with("commute report in "),
        "{merged:?}"
    );
    assert!(!merged.contains_key("Run the study"), "{merged:?}");
    for logs in [&logs, &merged] {
        for (step, log) in logs.iter().filter(|(step, _)| *step != "Run the study") {
            assert!(!log.contains("workspace"), "{step}: {log}");
        }
        assert!(!logs["Comment"].contains(TOKEN), "{logs:?}");
    }
}
