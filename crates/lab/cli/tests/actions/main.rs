//! The scripts of the GitHub actions, without GitHub: its variables point into a temporary folder, and `gh`, `cargo` and
//! `sudo` are stubs that write down what they receive.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod comment;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;

use common::study::{BASIC_NETWORK, SMALL_STUDY};
use common::{CommandOutput, Sandbox, User, repository};

/// What a stranger may give an arm as its name: HTML, a mention, a link and the end of a table's cell.
const HOSTILE: &str = "<img src=x onerror=alert(1)> @all [a](http://e.example) | `x`";
/// What a stranger may give the file of a study as its name: an option, and commands of a shell and of the runner.
const HOSTILE_FILE: &str = "--out=stolen $(touch pwned) ;touch pwned; ::add-mask::x.toml";
/// Answers from the file `comments` as gh does, and keeps what is to be commented.
const GH: &str = r#"
case "$1 $2" in
"pr view") ! command -v jq >/dev/null || exec jq --raw-output "$9" "$LOG.comments" ;;
"pr comment") cp "$7" "$LOG.body" ;;
"api --silent") cp "${7#body=@}" "$LOG.body" ;;
esac
"#;
const STUBS: [(&str, &str); 3] = [
    ("gh", GH),
    ("cargo", ""),
    // Runs what follows its options.
    (
        "sudo",
        "while [ \"${1#-}\" != \"$1\" ]; do shift; done\nexec \"$@\"\n",
    ),
];

/// The folders of a job, and the programs on its path.
struct Job {
    sandbox: Sandbox,
    environment: Vec<(String, String)>,
}

impl Job {
    fn new() -> Job {
        let sandbox = Sandbox::new();
        let bin = sandbox.dir().join("programs");
        fs::create_dir(&bin).unwrap();
        for (name, script) in STUBS {
            let text = format!(
                "#!/bin/sh\nLOG={}/log-{name}\nprintf '%s\\n' \"$@\" >>\"$LOG\"\n{script}",
                sandbox.dir().display()
            );
            let file = bin.join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_commute"), bin.join("commute")).unwrap();
        for (name, text) in [
            ("basic.toml", BASIC_NETWORK.to_owned()),
            (HOSTILE_FILE, hostile_study()),
        ] {
            sandbox.write(name, &text);
        }
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let mut job = Job {
            sandbox,
            environment: Vec::new(),
        };
        let summary = job.folder("temp").join("summary").display().to_string();
        job.set("PATH", &path);
        job.set("GITHUB_STEP_SUMMARY", &summary);
        job.set("GITHUB_REPOSITORY", "owner/name");
        for unset in ["STUDY", "ARGUMENTS", "SHARD", "ROOT", "STACKS"] {
            job.set(unset, "");
        }
        job
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(set, _)| set != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Returns a folder of the job, which it creates.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.sandbox.work().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn temp(&self, name: &str) -> PathBuf {
        self.folder("temp").join(name)
    }

    /// Runs a script of an action, e.g. `commute/run`, as its step does.
    fn step(&self, script: &str, args: &[&str]) -> CommandOutput {
        let script = repository().join(".github/actions").join(script);
        let mut command = Command::new(&script);
        command.args(args).env_clear();
        self.sandbox.configure(&mut command, User::Caller);
        command
            .env_remove("COMMUTE_HOME")
            .env("GITHUB_ACTION_PATH", script.parent().unwrap())
            .env("RUNNER_TEMP", self.folder("temp"))
            .envs(self.environment.iter().cloned());
        CommandOutput::of(command)
    }

    /// Returns what a stub received, one argument a line; nothing if it was not called.
    fn received(&self, stub: &str) -> String {
        fs::read_to_string(self.sandbox.dir().join(format!("log-{stub}"))).unwrap_or_default()
    }

    fn summary(&self) -> String {
        fs::read_to_string(self.temp("summary")).unwrap_or_default()
    }
}

fn hostile_study() -> String {
    let arm = format!("name = '''{HOSTILE}'''");
    SMALL_STUDY
        .replace("name = \"two\"", &arm)
        .replace("does it run?", "<b>does</b> it @all run?")
}

#[test]
fn a_hostile_study_is_run_in_shards_and_reported_on() {
    let mut job = Job::new();
    job.set("STUDY", HOSTILE_FILE);
    // As a workflow may write them, on several lines.
    job.set("ARGUMENTS", "--no-self-test\n--seed 9\n");
    let shards = job.folder("shards");
    for (shard, root) in [("1/2", ""), ("2/2", "true")] {
        job.set("SHARD", shard);
        job.set("ROOT", root);
        let output = job.step("commute/run", &[]).exits_with(0);
        let first = output.stdout.lines().next().unwrap_or_default();
        let pause = first.strip_prefix("::stop-commands::").unwrap_or_default();
        assert_eq!(pause.len(), 32, "{output}");
        assert!(
            output.stdout.ends_with(&format!("::{pause}::\n")),
            "{output}"
        );
        assert_eq!(job.summary(), "", "a shard has no summary");
        let records = record::Store::open(job.temp("commute")).unwrap().read();
        assert_eq!(records.unwrap().run().seed, 9);
        let is_chown = |line: &str| line == "chown";
        let owned = job.received("sudo").lines().any(is_chown);
        assert_eq!(owned, root == "true", "records of root cannot be uploaded");
        fs::rename(job.temp("commute"), shards.join(&shard[..1])).unwrap();
        fs::remove_file(job.temp("commute.md")).unwrap();
    }
    job.set("RECORDS", shards.to_str().unwrap());
    job.set("ARGUMENTS", "--fail-if\nfirst.median>1ns\n");
    job.step("commute/merge", &[]).exits_with(3);
    let report = fs::read_to_string(job.temp("commute.md")).unwrap();
    assert_eq!(job.summary(), report);
    assert!(report.contains("&lt;img src=x onerror=alert(1)&gt; &#64;all"));
    // The command that repeats the run is code, where nothing has a meaning.
    let prose = report.lines().filter(|line| !line.starts_with("    "));
    for line in prose {
        for hostile in ["<img", "<b>", "@all", "[a](", "`x`"] {
            assert!(!line.contains(hostile), "{line}");
        }
    }
    let names = common::file_names(&job.sandbox.work());
    let mut expected = ["basic.toml", HOSTILE_FILE, "shards", "temp"];
    expected.sort_unstable();
    assert_eq!(names, expected, "nothing else was written");
}

#[test]
fn a_whole_study_has_a_summary_and_its_exit_code() {
    let mut job = Job::new();
    job.set("STUDY", HOSTILE_FILE);
    job.set(
        "ARGUMENTS",
        "--no-self-test --blocks 1 --fail-if first.median>1ns",
    );
    job.set("ROOT", "true");
    job.step("commute/run", &[]).exits_with(3);
    assert!(job.summary().contains("first.median"));
    assert!(job.received("sudo").starts_with("--preserve-env=PATH\n/"));
}

#[test]
fn options_in_the_place_of_a_study_are_names() {
    let mut job = Job::new();
    for (study, message) in [("--help", "--help"), ("", "the input study is empty")] {
        job.set("STUDY", study);
        job.step("commute/run", &[])
            .exits_with(2)
            .stderr_contains(message);
    }
}

#[test]
fn stacks_are_those_of_the_action() {
    let mut job = Job::new();
    job.step("commute/install", &[]).exits_with(0);
    let package = "/.github/actions/commute/../../../crates/lab/cli\n";
    assert!(job.received("cargo").ends_with(package));
    job.set("STACKS", "--home\n/stranger");
    job.step("commute/stacks", &[]).exits_with(2);
    let received = job.received("sudo");
    assert!(
        received.ends_with("/commute/../../..\n--\n--home\n/stranger\n"),
        "{received}"
    );
    job.set("STACKS", "");
    job.step("commute/stacks", &[]).exits_with(0);
    assert_eq!(job.received("sudo"), received, "nothing to install");
}

#[test]
fn records_with_links_are_refused() {
    let mut job = Job::new();
    let shards = job.folder("shards");
    job.set("RECORDS", shards.to_str().unwrap());
    job.step("commute/merge", &[])
        .exits_with(2)
        .stderr_contains("there is no shard in");
    fs::create_dir(shards.join("1")).unwrap();
    symlink("/etc/passwd", shards.join("1/run.json")).unwrap();
    job.step("commute/merge", &[])
        .exits_with(2)
        .stderr_contains("has links");
    assert_eq!(job.summary(), "");
}

/// No step or job that reads a stranger's study or records has a token. The step with one runs in the folder of the
/// action, with the system's programs.
#[test]
fn only_the_comment_has_a_token() {
    let is_step = |line: &str| line.starts_with("    - name: ");
    let is_job =
        |line: &str| line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':');
    let action = parts("actions/commute/action.yml", "\n  steps:\n", is_step);
    let workflow = parts("workflows/measure.yml", "\njobs:\n", is_job);
    assert_eq!((action.len(), workflow.len()), (6, 3));
    for all in [&action, &workflow] {
        let (comment, others) = all.split_last().unwrap();
        assert!(comment.contains("token"), "{comment}");
        for part in others {
            for word in ["token", "secrets", ": write"] {
                assert!(!part.contains(word), "{part}");
            }
        }
    }
    let comment = parts("actions/comment/action.yml", "\n  steps:\n", is_step);
    for step in [action.last(), comment.last()].into_iter().flatten() {
        for line in [
            "shell: /bin/bash --noprofile --norc -eo pipefail {0}\n",
            "working-directory: ${{ github.action_path }}\n",
            "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
        ] {
            assert!(step.contains(line), "{step}");
        }
    }
    // So that two calls in one workflow do not replace or merge each other's artifacts.
    let names = |part: &String| -> Vec<String> {
        let artifacts = part.lines().filter_map(|line| line.trim().split_once(": "));
        let named = artifacts.filter(|(key, _)| ["name", "pattern"].contains(key));
        named.map(|(_, name)| name.to_owned()).collect()
    };
    let names: Vec<String> = workflow.iter().flat_map(names).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        names.iter().all(|name| name.contains("${{ inputs.name }}")),
        "{names:?}"
    );
    let is_own = "github.event.pull_request.head.repo.full_name == github.repository";
    assert!(
        workflow[2].contains(is_own),
        "forks have no permission to comment"
    );
    assert!(workflow[0].contains("persist-credentials: false"));
    assert!(!workflow[1..].concat().contains("actions/checkout"));
}

/// Returns the parts of a file below `.github` after `begin`, each from the line that is its head.
fn parts(file: &str, begin: &str, is_head: impl Fn(&str) -> bool) -> Vec<String> {
    let text = fs::read_to_string(repository().join(".github").join(file)).unwrap();
    let (_, text) = text.split_once(begin).unwrap();
    let mut parts = Vec::new();
    for line in text.lines() {
        if is_head(line) {
            parts.push(String::new());
        }
        *parts.last_mut().unwrap() += &format!("{line}\n");
    }
    parts
}
