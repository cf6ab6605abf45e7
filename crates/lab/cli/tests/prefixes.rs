//! `--out` and `--resume` with a prefix, and the verbs that read one. The bucket is a folder (`file://`); `s3.rs` does the
//! same with a server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::command::{Running, wait_until};
use common::process::{descendants, is_driver};
use common::study::{assert_complete, move_to_another_machine, record_count, records};
use common::{CommandOutput, Sandbox, file_names};
use record::Cell;
use rustix::process::{Pid, Signal};

/// A machine with a cache of its own.
struct Machine<'s> {
    sandbox: &'s Sandbox,
    name: &'static str,
}

impl Machine<'_> {
    fn cache(&self) -> PathBuf {
        self.sandbox.dir().join(self.name)
    }

    fn commute(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.commute(args);
        command.env("XDG_CACHE_HOME", self.cache());
        command
    }

    fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::of(self.commute(args))
    }

    /// Returns the folders of runs that it keeps.
    fn kept(&self) -> Vec<String> {
        let runs = self.cache().join("commute/runs");
        if runs.is_dir() {
            file_names(&runs)
        } else {
            Vec::new()
        }
    }
}

/// Returns a folder as a bucket, and the URL of a prefix in it.
fn bucket(sandbox: &Sandbox, prefix: &str) -> (PathBuf, String) {
    let folder = sandbox.dir().join("bucket").join(prefix);
    let url = format!("file://{}", folder.display());
    (folder, url)
}

#[test]
fn shards_of_several_machines_share_a_prefix() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let (folder, url) = bucket(&sandbox, "study");
    let [one, two, reader] = ["one", "two", "reader"].map(|name| Machine {
        sandbox: &sandbox,
        name,
    });
    for (machine, shard) in [(&one, "1/2"), (&two, "2/2")] {
        let args = [
            "run",
            "small.toml",
            "--no-self-test",
            "--out",
            &url,
            "--shard",
            shard,
            // As deploy/kubernetes does it, which does not know whether the shard was begun.
            "--or-resume",
        ];
        let part = format!("{url}/shard-{}", shard.replace('/', "-of-"));
        machine.run(&["run", "--resume", &part]).exits_with(2);
        let output = machine.run(&args).exits_with(0);
        output.stderr_contains(&format!("`commute report {part}`"));
        assert!(
            machine.kept().is_empty(),
            "what is stored needs no second copy"
        );
    }
    assert_eq!(file_names(&folder), ["shard-1-of-2", "shard-2-of-2"]);
    let shards = ["shard-1-of-2", "shard-2-of-2"].map(|shard| folder.join(shard));
    let data = record::merge(shards.iter().map(|dir| records(dir)).collect()).unwrap();
    assert_complete(&data);

    let paths = shards.each_ref().map(|dir| dir.to_str().unwrap());
    for format in ["json", "csv"] {
        let of_folders = ["report", paths[0], paths[1], "--format", format];
        let expected = reader.run(&of_folders).exits_with(0).stdout;
        let of_prefix = ["report", &url, "--format", format];
        assert_eq!(
            reader.run(&of_prefix).exits_with(0).stdout,
            expected,
            "{format}"
        );
    }
    reader.run(&["compare", &url, &url]).exits_with(0);
    reader.run(&["why", &url]).exits_with(0);
}

#[test]
fn a_killed_run_is_resumed_on_another_machine() {
    let mut sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.allow_temporary_files();
    let (folder, url) = bucket(&sandbox, "study");
    let [one, two] = ["one", "two"].map(|name| Machine {
        sandbox: &sandbox,
        name,
    });
    let args = [
        "run",
        "small.toml",
        "--no-self-test",
        "--blocks",
        "4",
        "--out",
        &url,
    ];
    let mut running = Running::start(one.commute(&args));
    wait_until("three records", || record_count(&folder) > 2);
    running.child.kill().unwrap();
    assert!(!running.finish().status.success());
    let before = records(&folder);
    // It begins a second time only when told to continue.
    one.run(&args)
        .exits_with(2)
        .stderr_contains(&format!("--resume {url}`"));

    two.run(&["run", "--resume", &url]).exits_with(0);
    let after = records(&folder);
    assert_complete(&after);
    for cell in before.cells() {
        assert!(
            after.cells().contains(cell),
            "the record of {} has changed",
            cell.id
        );
    }
    // The first machine's folder has no more than the bucket.
    assert_eq!(one.kept().len(), 1);
    one.run(&["run", "--resume", &url]).exits_with(0);
    assert_eq!(records(&folder), after);
    assert!(one.kept().is_empty());

    // The command that began it continues it, too, but no other.
    let or_resume = |more: &[&str]| two.run(&[&args[..], &["--or-resume"], more].concat());
    or_resume(&[]).exits_with(0);
    assert_eq!(records(&folder), after);
    or_resume(&["--seed", "77"])
        .exits_with(2)
        .stderr_contains("the seed differs");
    assert_eq!(records(&folder), after);

    // Any machine extends it.
    two.run(&["run", "--resume", &url, "--blocks", "5"])
        .exits_with(0);
    let extended = records(&folder);
    assert_complete(&extended);
    assert_eq!(extended.run().blocks, 5);
}

/// Of a complete run, leaves one cell of the first block, which ended just now. Returns the ids of both its cells.
fn halve_first_block(run: &Path) -> [String; 2] {
    let data = records(run);
    let [first, second] = [0, 1].map(|index| {
        let id = &data.run().plan[index].id;
        data.cells().iter().find(|cell| cell.id == *id).unwrap()
    });
    let file = |cell: &Cell| run.join("cells").join(cell.file_name());
    fs::remove_file(file(second)).unwrap();
    let text = fs::read_to_string(file(first)).unwrap();
    let started = |ns: u64| format!("\"started_ns\": {ns}");
    let later = text.replace(&started(first.started_ns), &started(u64::MAX / 2));
    fs::write(file(first), later).unwrap();
    [first.id.clone(), second.id.clone()]
}

#[test]
fn a_block_that_another_machine_began_is_measured_again() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    for of_other in [false, true] {
        let (folder, url) = bucket(&sandbox, if of_other { "other" } else { "own" });
        let machine = Machine {
            sandbox: &sandbox,
            name: "one",
        };
        let args = ["run", "small.toml", "--no-self-test", "--out", &url];
        machine.run(&args).exits_with(0);
        let [first, second] = halve_first_block(&folder);
        if of_other {
            move_to_another_machine(&folder);
        }
        // Ends after it has fetched the cells: the next one finds them in its folder.
        machine
            .run(&["run", "--resume", &url, "--budget", "1m"])
            .exits_with(2);
        machine.run(&["run", "--resume", &url]).exits_with(0);
        let cells = file_names(&folder.join("cells"));
        let has = |id: &str, invocation: u32| cells.contains(&format!("{id}.{invocation}.1.json"));
        assert_eq!(has(&second, 1), !of_other, "{cells:?}");
        for id in [&first, &second] {
            assert_eq!(has(id, 2), of_other, "{cells:?}");
        }
        assert_complete(&records(&folder));
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let (folder, url) = bucket(&sandbox, "study");
    let [one, two] = ["one", "two"].map(|name| Machine {
        sandbox: &sandbox,
        name,
    });
    let args = ["run", "small.toml", "--no-self-test", "--out", &url];
    one.run(&args).exits_with(0);
    halve_first_block(&folder);
    let before = records(&folder);
    two.run(&["run", "--resume", &url, "--blocks", "3", "--dry-run"])
        .exits_with(0)
        .stdout_contains("6 of 6 cells");
    assert_eq!(records(&folder), before);
    assert!(!two.cache().exists());
}

#[test]
fn an_interrupted_dry_run_leaves_no_copies() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let temporary = sandbox.dir().join("tmp");
    let old = temporary.join("commute-runs-of-a-killed-process");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("run.json"), "{}").unwrap();
    // It accepts connections, and answers nothing.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let mut command = sandbox.commute(&["run", "--resume", "s3://bucket/study", "--dry-run"]);
    command
        .env(
            "AWS_ENDPOINT_URL",
            format!("http://{}", server.local_addr().unwrap()),
        )
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_ACCESS_KEY_ID", "invented")
        .env("AWS_SECRET_ACCESS_KEY", "invented");
    let running = Running::start(command);
    let mut connection = None;
    wait_until("a connection", || {
        connection = server.accept().ok();
        connection.is_some()
    });
    assert_eq!(file_names(&temporary).len(), 1);
    assert!(!old.exists());
    running.signal(Signal::INT);
    running.finish().exits_with(130);
    assert_eq!(file_names(&temporary), Vec::<String>::new());
}

#[test]
fn no_process_of_a_bench_has_the_credentials() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let mut command = sandbox.commute(&["run", "small.toml", "--no-self-test", "--out", "run"]);
    for beginning in remote::VARIABLES {
        command.env(format!("{beginning}SECRET"), "hunter2");
    }
    let running = Running::start(command);
    let has_credentials = |pid: Pid| {
        let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
        let text = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("hunter2")
    };
    let mut processes = Vec::new();
    wait_until("a driver and a server", || {
        processes = descendants(running.pid());
        processes.len() > 2 && processes.iter().any(|(pid, _)| is_driver(*pid))
    });
    assert!(has_credentials(running.pid()));
    assert!(!processes.into_iter().any(|(pid, _)| has_credentials(pid)));
    running.finish().exits_with(0);
}

#[test]
fn mistakes_are_found_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let (folder, url) = bucket(&sandbox, "study");
    let machine = Machine {
        sandbox: &sandbox,
        name: "one",
    };
    for (args, code, text) in [
        (
            vec!["run", "small.toml", "--out", "http://bucket/a"],
            2,
            "`http://` names no place",
        ),
        (
            vec!["run", "small.toml", "--out", "s3://k:hunter2@bucket"],
            2,
            "credentials",
        ),
        (
            vec!["run", "small.toml", "--out", &url, "--pcap"],
            2,
            "which a prefix does not keep",
        ),
        (vec!["run", "--resume", &url], 2, "holds no run.json"),
        (vec!["report", &url], 2, "holds no run.json"),
        (vec!["compare", &url, &url], 2, "holds no run.json"),
        (vec!["why", &url], 2, "holds no run.json"),
    ] {
        let output = machine.run(&args).exits_with(code).stderr_contains(text);
        assert!(output.stdout.is_empty(), "{output}");
        assert!(!output.stderr.contains("hunter2"), "{output}");
    }
    fs::create_dir_all(&folder).unwrap();
    assert_eq!(file_names(&folder), Vec::<String>::new());
}

#[test]
fn who_can_read_private_requests_is_said() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let study = fs::read_to_string(sandbox.work().join("small.toml")).unwrap();
    let own = study.replace("call = \"echo\"", "call = \"a\"\npath = \"/a?key=hunter2\"");
    sandbox.write("own.toml", &own);
    let (folder, url) = bucket(&sandbox, "study");
    let machine = Machine {
        sandbox: &sandbox,
        name: "one",
    };
    let args = ["run", "own.toml", "--no-self-test", "--out", &url];
    let output = machine.run(&args).exits_with(0);
    output.stderr_contains(&format!("whoever can read {url} can read them"));
    assert_complete(&records(&folder));
}
