//! Runs into a real S3 server, on several machines: `make remote`, which names the server's program in
//! `COMMUTE_S3_SERVER`. It is versitygw, which keeps objects as files, so that the test reads the bucket past S3.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::command::{Running, wait_until};
use common::study::{
    assert_complete, counted_cells, move_to_another_machine, record_count, records,
};
use common::{CommandOutput, Sandbox};
use record::CellStatus;
use tempfile::TempDir;

const KEY: &str = "commute-test-key";
const SECRET: &str = "hunter2-is-the-secret";
const BLOCKS: &str = "6";

/// A study with a file and a header field of its own: its records are private, and a machine that continues it needs both.
const STUDY: &str = r#"
name = "private"
question = "does it run on many machines?"
networks = ["basic.toml"]
baseline = "one"
timeout_s = 5
blocks = 6
seed = 3
[[arm]]
name = "one"
stack = "hyper"
protocol = "h2"
[[arm]]
name = "two"
stack = "hyper"
protocol = "h1"
[[step]]
call = "order"
path = "/v1/orders"
request = "order.json"
headers = { authorization = "Bearer the-study's-own" }
"#;

/// A server with the bucket `commute`.
struct S3 {
    dir: TempDir,
    port: u16,
    process: Option<Child>,
}

impl S3 {
    fn start() -> S3 {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["data/commute", "sidecar"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let mut s3 = S3 {
            dir,
            port,
            process: None,
        };
        s3.restart(SECRET);
        s3
    }

    /// Ends the server and starts it again, with its objects. It then accepts this secret only.
    fn restart(&mut self, secret: &str) {
        self.stop();
        let server = std::env::var_os("COMMUTE_S3_SERVER").expect("`make remote` sets it");
        let log = File::create(self.dir.path().join("log")).unwrap();
        let process = Command::new(server)
            .env("ROOT_ACCESS_KEY", KEY)
            .env("ROOT_SECRET_KEY", secret)
            .args(["--port", &format!("127.0.0.1:{}", self.port)])
            .arg("posix")
            .arg("--sidecar")
            .arg(self.dir.path().join("sidecar"))
            .arg(self.dir.path().join("data"))
            .current_dir(self.dir.path())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(process);
        wait_until("the S3 server", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Returns where the server keeps the objects below a prefix.
    fn folder(&self, prefix: &str) -> PathBuf {
        self.dir.path().join("data/commute").join(prefix)
    }

    /// Returns a machine without files of earlier ones.
    fn machine<'s>(&self, sandbox: &'s Sandbox) -> Machine<'s> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Machine {
            sandbox,
            cache: sandbox.dir().join(format!("machine-{number}")),
            endpoint: format!("http://127.0.0.1:{}", self.port),
        }
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Machine<'s> {
    sandbox: &'s Sandbox,
    cache: PathBuf,
    endpoint: String,
}

impl Machine<'_> {
    fn commute(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.commute(args);
        command
            .env("XDG_CACHE_HOME", &self.cache)
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_ENDPOINT_URL", &self.endpoint)
            .env("AWS_ALLOW_HTTP", "true");
        command
    }

    fn run(&self, args: &[&str]) -> CommandOutput {
        let output = CommandOutput::of(self.commute(args));
        assert!(!output.stderr.contains(SECRET), "{output}");
        output
    }

    fn start(&self, args: &[&str]) -> Running {
        Running::start(self.commute(args))
    }
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.write("order.json", r#"{"sku": "TEA"}"#);
    sandbox.write("private.toml", STUDY);
    // Of commands that are killed.
    sandbox.allow_temporary_files();
    sandbox
}

#[test]
#[ignore = "needs an S3 server: make remote"]
fn a_run_goes_on_where_another_machine_was_killed() {
    let sandbox = sandbox();
    let s3 = S3::start();
    let folder = s3.folder("killed");
    let url = "s3://commute/killed";
    let args = [
        "run",
        "private.toml",
        "--no-self-test",
        "--blocks",
        BLOCKS,
        "--out",
        url,
    ];
    let mut running = s3.machine(&sandbox).start(&args);
    wait_until("five records", || record_count(&folder) > 4);
    running.child.kill().unwrap();
    let killed = running.finish();
    assert!(
        !killed.status.success(),
        "the run ended before it was killed"
    );
    killed.stderr_contains("whoever can read s3://commute/killed can read them");
    // Of the last block that was measured, one cell is left.
    let measured = records(&folder);
    let count = measured.cells().len();
    if count.is_multiple_of(2) {
        let last = &measured.run().plan[count - 1].id;
        fs::remove_file(folder.join(format!("cells/{last}.1.1.json"))).unwrap();
    }
    move_to_another_machine(&folder);
    let before = records(&folder);
    // A listing has at most 1,000 names, and these come first.
    for number in 0..1_100 {
        fs::write(folder.join(format!("cells/0-{number}.txt")), "").unwrap();
    }

    let other = s3.machine(&sandbox);
    other.run(&["run", "--resume", url]).exits_with(0);
    let after = records(&folder);
    assert_complete(&after);
    assert_eq!(after.run().plan, before.run().plan);
    for cell in before.cells() {
        assert!(
            after.cells().contains(cell),
            "the record of {} has changed",
            cell.id
        );
    }
    // As many records as cells, but for the one of the block in which the machine was killed.
    let superseded = |(_, status): &(_, CellStatus)| *status == CellStatus::Superseded;
    let superseded = after.with_status().into_iter().filter(superseded).count();
    assert_eq!(superseded, 1);
    let again = after.cells().iter().filter(|cell| cell.invocation == 2);
    assert_eq!(again.count(), 2);

    let reader = s3.machine(&sandbox);
    let dir = folder.to_str().unwrap();
    for format in ["human", "json", "csv"] {
        let of_folder = reader.run(&["report", dir, "--format", format]);
        let of_bucket = reader.run(&["report", url, "--format", format]);
        assert_eq!(of_bucket.stdout, of_folder.stdout, "{format}");
        assert_eq!(of_bucket.status.code(), of_folder.status.code(), "{format}");
    }
    reader.run(&["compare", url, dir]).exits_with(0);
    reader.run(&["why", url]).exits_with(0);

    let more = ["run", "--resume", url, "--blocks", "7"];
    reader.run(&more).exits_with(0);
    let extended = records(&folder);
    assert_complete(&extended);
    assert_eq!(extended.run().blocks, 7);
}

#[test]
#[ignore = "needs an S3 server: make remote"]
fn of_two_machines_in_one_shard_one_goes_on() {
    let sandbox = sandbox();
    let s3 = S3::start();
    let folder = s3.folder("race/shard-1-of-2");
    let args = [
        "run",
        "private.toml",
        "--no-self-test",
        "--blocks",
        "12",
        "--shard",
        "1/2",
        "--out",
        "s3://commute/race",
    ];
    let one = s3.machine(&sandbox).start(&args);
    wait_until("a record", || record_count(&folder) > 0);
    let resume = ["run", "--resume", "s3://commute/race/shard-1-of-2"];
    let other = s3.machine(&sandbox).start(&resume);
    let outputs = [one.finish(), other.finish()];
    let codes = outputs.each_ref().map(|output| output.status.code());
    assert!(
        codes == [Some(0), Some(1)] || codes == [Some(1), Some(0)],
        "{}\n{}",
        outputs[0],
        outputs[1]
    );
    for output in outputs
        .into_iter()
        .filter(|output| output.status.code() == Some(1))
    {
        output
            .stderr_contains("was stored by another machine")
            .stderr_contains("Let one machine run this shard");
    }
    let data = records(&folder);
    let listed = [
        "run",
        "private.toml",
        "--blocks",
        "12",
        "--shard",
        "1/2",
        "--dry-run",
        "-v",
    ];
    let listed = s3.machine(&sandbox).run(&listed).exits_with(0).stdout;
    let planned: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("basic_"))
        .collect();
    let counted = counted_cells(&data);
    let counted: Vec<&str> = counted.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(counted, planned);
}

#[test]
#[ignore = "needs an S3 server: make remote"]
fn a_run_stops_when_cells_cannot_be_stored_and_keeps_them() {
    let sandbox = sandbox();
    let mut s3 = S3::start();
    let folder = s3.folder("denied");
    let url = "s3://commute/denied";
    let machine = s3.machine(&sandbox);
    let args = [
        "run",
        "private.toml",
        "--no-self-test",
        "--blocks",
        BLOCKS,
        "--out",
        url,
    ];
    let running = machine.start(&args);
    wait_until("two records", || record_count(&folder) > 1);
    // Puts meanwhile are repeated.
    s3.restart("another secret");
    let denied = running.finish().exits_with(1);
    assert!(!denied.stderr.contains(SECRET), "{denied}");
    denied
        .stderr_contains("cannot store s3://commute/denied/cells/")
        .stderr_contains("(SignatureDoesNotMatch)")
        .stderr_contains(&machine.cache.display().to_string())
        .stderr_contains("commute run --resume s3://commute/denied`");
    let stored = record_count(&folder);
    s3.restart(SECRET);
    let kept: Vec<_> = fs::read_dir(machine.cache.join("commute/runs"))
        .unwrap()
        .collect();
    let kept = kept[0].as_ref().unwrap().path().join("records");
    // The server may have stored the last one and been stopped before it said so.
    assert!((stored..=stored + 1).contains(&record_count(&kept)));
    machine.run(&["run", "--resume", url]).exits_with(0);
    assert!(!kept.exists());
    assert_complete(&records(&folder));
}

#[test]
#[ignore = "needs an S3 server: make remote"]
fn keys_are_written_nowhere() {
    let sandbox = sandbox();
    let s3 = S3::start();
    let folder = s3.folder("keys");
    let url = "s3://commute/keys";
    let machine = s3.machine(&sandbox);
    let args = [
        "run",
        "private.toml",
        "--no-self-test",
        "--blocks",
        "1",
        "--out",
        url,
    ];
    // The server knows no session, so that the first command fails.
    for (code, token) in [(1, Some("hunter3-is-the-token")), (0, None)] {
        let mut command = machine.commute(&args);
        command.env("COMMUTE_LOG", "trace");
        if let Some(token) = token {
            command.env("AWS_SESSION_TOKEN", token);
        }
        let output = CommandOutput::of(command);
        assert!(output.stderr.contains("TRACE"), "{output}");
        for secret in [SECRET, "hunter3"] {
            let shown = output.stderr.contains(secret);
            assert!(!shown, "on standard error: {secret}");
        }
        output.exits_with(code);
    }
    machine.run(&args).exits_with(2);
    for file in ["run.json", "cells"] {
        let grep = Command::new("grep")
            .args([
                "-rlE",
                &format!("{SECRET}|hunter3|{KEY}|s3://|{}", machine.endpoint),
            ])
            .arg(folder.join(file))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&grep.stdout), "", "{file}");
    }
    let mut wrong = machine.commute(&["report", url]);
    wrong.env("AWS_SECRET_ACCESS_KEY", "hunter4-is-wrong");
    let output = CommandOutput::of(wrong).exits_with(1);
    assert!(!output.stderr.contains("hunter"), "{output}");
    output.stderr_contains("(SignatureDoesNotMatch)");
    machine
        .run(&["run", "private.toml", "--out", "s3://no-such-bucket/a"])
        .exits_with(1)
        .stderr_contains("NoSuchBucket");
}
