//! What a codec runner can reach: a runner tries it, and the outcomes are published.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{self, CommandOutput, NOBODY_ID, Sandbox, User};
use crate::{Denied, NEVER, Outcomes, word};

const INTRO: &str = "
A codec runner tries this:

| attempt | root | ordinary user |
|---|---|---|
";
const RUNNER: &str = include_str!("runner.py");
/// The kernel ends a namespace's processes long before.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(10);

/// The attempts, with the runner's words for them.
const ATTEMPTS: [(&str, &str, Outcomes); 6] = [
    ("loopback", "connect to the machine's loopback", NEVER),
    (
        "abstract",
        "connect to an abstract Unix socket of the machine",
        NEVER,
    ),
    ("see", "see a process of the machine", NEVER),
    ("signal", "signal a process of its user", NEVER),
    (
        "descriptor",
        "read a file that the user's shell left open",
        NEVER,
    ),
    (
        "session",
        "stay in the session of the user's terminal",
        NEVER,
    ),
];
/// The test looks for processes left behind, since the runner has ended by then.
const REMAINING: &str = "leave a process behind";

/// Returns the part of the page about codec runners.
pub(crate) fn table() -> String {
    let rows = ATTEMPTS.map(|(_, attempt, outcomes)| (attempt, outcomes));
    let rows = rows.into_iter().chain([(REMAINING, NEVER)]);
    let row = |(attempt, [root, ordinary]): (&str, Outcomes)| {
        format!("| {attempt} | {} | {} |\n", word(root), word(ordinary))
    };
    INTRO.to_owned() + &rows.map(row).collect::<String>()
}

#[test]
fn runners_attempts_end_as_documented() {
    for user in common::users() {
        let sandbox = Sandbox::new();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port().to_string();
        let mark = mark("attempts");
        let name = SocketAddr::from_abstract_name(&mark).unwrap();
        let _abstract_listener = UnixListener::bind_addr(&name).unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        if common::is_root() {
            sleep.uid(NOBODY_ID).gid(NOBODY_ID);
        }
        let mut sleep = sleep.spawn().unwrap();

        let folder = sandbox.home().join("stacks/external");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("runner.py"), RUNNER).unwrap();
        let manifest = format!(
            "[stack]\nneeds = \"\"\n[[runner]]\nruntime = \"external\"\ncommand = [\"/usr/bin/python3\", \"-I\", \
             \"{{stack}}/runner.py\", \"{port}\", \"{mark}\", \"{}\", \"{mark}\"]\n",
            sleep.id()
        );
        fs::write(folder.join("stack.toml"), manifest).unwrap();
        let secret = sandbox.write("secret", "of the user");

        let args = [
            "codec",
            "--message",
            "small",
            "--rounds",
            "6",
            "--cold",
            "0",
        ];
        let commute = sandbox.commute_as(user, &args);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec 9<\"$0\"; exec \"$@\""])
            .arg(secret)
            .arg(commute.get_program())
            .args(commute.get_args());
        sandbox.configure(&mut shell, user);
        let output = CommandOutput::of(shell);
        sleep.kill().unwrap();
        sleep.wait().unwrap();

        let column = usize::from(!(common::is_root() && user == User::Caller));
        for (key, attempt, outcomes) in ATTEMPTS {
            let outcome = match outcomes[column] {
                Denied => "denied",
                _ => "allowed",
            };
            let found = output.stdout.contains(&format!("{key}={outcome}"));
            assert!(found, "{user:?}: {attempt}: not {outcome}: {output}");
        }
        assert_none_remain(&mark, user);
    }
}

#[test]
fn end_of_the_command_ends_its_programs() {
    let sandbox = Sandbox::new();
    let work = sandbox.work();
    let mark = mark("ends");
    let script = format!("(exec -a {mark} sleep 1000) & exec -a {mark} sleep 1000");
    let [input, output] = ["input", "output"].map(|name| sandbox.write(name, ""));
    let args = ["confined", "--writable", work.to_str().unwrap()];
    let args = [&args[..], &["--", "/bin/bash", "-c", &script]].concat();
    // SIGINT would be ignored where a shell has started the test in the background.
    for signal in [Signal::TERM, Signal::KILL] {
        let mut command = sandbox.commute(&args);
        command
            .env("COMMUTE_IN", &input)
            .env("COMMUTE_OUT", &output);
        let mut started = command.spawn().unwrap();
        while marked(&mark).len() < 2 {
            assert_eq!(started.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&started), signal).unwrap();
        started.wait().unwrap();
        assert_none_remain(&mark, User::Caller);
    }
}

/// Returns a name that no other test has.
fn mark(test: &str) -> String {
    format!("commute-test-{}-{test}", std::process::id())
}

/// Asserts that no process with the mark is left, and ends those that are.
#[track_caller]
fn assert_none_remain(mark: &str, user: User) {
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    let mut left = marked(mark);
    while !left.is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
        left = marked(mark);
    }
    for pid in &left {
        kill_process(*pid, Signal::KILL).unwrap();
    }
    assert!(left.is_empty(), "{user:?}: left behind: {left:?}");
}

/// Returns the processes whose first argument is the mark.
fn marked(mark: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_marked = |id: &i32| {
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).next() == Some(mark.as_bytes())
    };
    ids.filter(is_marked).filter_map(Pid::from_raw).collect()
}
