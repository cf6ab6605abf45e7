//! The scripts of the GitHub actions, without GitHub: its variables point into a temporary folder, and `gh`, `cargo` and
//! `sudo` are stubs that write down what they receive.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::study::{BASIC_NETWORK, SMALL_STUDY};
use common::{CommandOutput, Sandbox, User, repository};

/// What a stranger may give an arm as its name: HTML, a mention, a link and the end of a table's cell.
const HOSTILE: &str = "<img src=x onerror=alert(1)> @all [a](http://e.example) | `x`";
/// What a stranger may give the file of a study as its name: an option, and commands of a shell and of the runner.
const HOSTILE_FILE: &str = "--out=stolen $(touch pwned) ;touch pwned; ::add-mask::x.toml";
const STUBS: [(&str, &str); 3] = [
    ("gh", "cp \"$7\" \"$LOG.body\"\n"),
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

    /// Returns the script that comments, with what it needs.
    fn ready_to_comment() -> Job {
        let mut job = Job::new();
        job.set("GH_TOKEN", "token");
        job.set("NUMBER", "7");
        fs::write(job.temp("commute.md"), "### Answer\n\nnone\n").unwrap();
        job
    }

    fn comment(&self) -> CommandOutput {
        let file = self.temp("commute.md");
        self.step("comment/comment", &[file.to_str().unwrap()])
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
    job.set("ARGUMENTS", "--no-self-test");
    let shards = job.folder("shards");
    for shard in ["1/2", "2/2"] {
        job.set("SHARD", shard);
        let output = job.step("commute/run", &[]).exits_with(0);
        let first = output.stdout.lines().next().unwrap_or_default();
        let pause = first.strip_prefix("::stop-commands::").unwrap_or_default();
        assert_eq!(pause.len(), 32, "{output}");
        assert!(
            output.stdout.ends_with(&format!("::{pause}::\n")),
            "{output}"
        );
        assert_eq!(job.summary(), "", "a shard has no summary");
        fs::rename(job.temp("commute"), shards.join(&shard[..1])).unwrap();
        fs::remove_file(job.temp("commute.md")).unwrap();
    }
    job.set("RECORDS", shards.to_str().unwrap());
    job.set("ARGUMENTS", "");
    job.step("commute/merge", &[]).exits_with(0);
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
    job.set("STACKS", "--home /stranger");
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

#[test]
fn a_report_is_commented() {
    let job = Job::ready_to_comment();
    job.comment().exits_with(0);
    let received = job.received("gh");
    let arguments: Vec<&str> = received.lines().collect();
    let (before, rest) = arguments.split_at(6);
    assert_eq!(
        before,
        ["pr", "comment", "7", "--repo", "owner/name", "--body-file"]
    );
    assert_eq!(rest[1..], ["--edit-last", "--create-if-none"]);
    assert_eq!(body(&job), "### Answer\n\nnone\n");
    assert!(!Path::new(rest[0]).exists(), "the copy is deleted");
}

#[test]
fn a_long_report_is_cut_after_a_line() {
    let job = Job::ready_to_comment();
    fs::write(job.temp("commute.md"), "aé\n".repeat(50_000)).unwrap();
    job.comment().exits_with(0);
    let body = body(&job);
    assert!(body.len() < 65_536);
    assert!(body.starts_with("aé\naé\n"));
    assert!(
        body.ends_with(
            "aé\n\n\n*The report was cut here. The summary of the job has all of it.*\n"
        )
    );
}

#[test]
fn nothing_is_commented_without_token_number_or_report() {
    for (name, value, message) in [
        ("GH_TOKEN", "", "no token"),
        ("NUMBER", "", "no number"),
        ("NUMBER", "7 --body x", "no number"),
        ("NUMBER", "--help", "no number"),
    ] {
        let mut job = Job::ready_to_comment();
        job.set(name, value);
        job.comment().exits_with(1).stderr_contains(message);
        assert_eq!(job.received("gh"), "");
    }
    let job = Job::ready_to_comment();
    let file = job.temp("commute.md");
    let line = "x".repeat(70_000);
    for (content, message) in [("", "empty"), (line.as_str(), "longer than")] {
        fs::write(&file, content).unwrap();
        job.comment().exits_with(1).stderr_contains(message);
    }
    fs::remove_file(&file).unwrap();
    symlink("/etc/passwd", &file).unwrap();
    job.comment()
        .exits_with(1)
        .stderr_contains("there is no report");
    assert_eq!(job.received("gh"), "");
}

/// Returns what the stub of gh was to comment.
fn body(job: &Job) -> String {
    fs::read_to_string(job.sandbox.dir().join("log-gh.body")).unwrap()
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
