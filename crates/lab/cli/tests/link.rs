//! `commute link`: runs a command behind an emulated network, otherwise unchanged.

mod common;

use std::io::Write as _;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use common::command::{Running, wait_until};
use common::process::{descendants, handles};
use common::{CommandOutput, Sandbox, User, users};

/// The signals that `commute link` forwards to the command.
const FORWARDED: [Signal; 7] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
];

/// Returns `commute link lan -- sh -c SCRIPT`.
fn link(sandbox: &Sandbox, user: User, script: &str) -> Command {
    sandbox.commute_as(user, &["link", "lan", "--", "sh", "-c", script])
}

fn run(sandbox: &Sandbox, user: User, script: &str) -> CommandOutput {
    CommandOutput::of(link(sandbox, user, script))
}

#[test]
fn exit_status_is_passed_on() {
    for user in users() {
        let sandbox = Sandbox::new();
        run(&sandbox, user, "exit 0").exits_with(0);
        run(&sandbox, user, "exit 7").exits_with(7);
        run(&sandbox, user, "kill -TERM $$").exits_with(128 + 15);
        run(&sandbox, user, "kill -KILL $$").exits_with(128 + 9);
    }
}

#[test]
fn error_names_a_command_that_cannot_be_run() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["link", "lan", "--", "no-such-command"])
        .exits_with(127)
        .stderr_contains("no-such-command");
    let file = sandbox.write("no-program", "just text\n");
    sandbox
        .run(&["link", "lan", "--", file.to_str().unwrap()])
        .exits_with(126)
        .stderr_contains("no-program");
}

#[test]
fn signals_are_forwarded() {
    for user in users() {
        let sandbox = Sandbox::new();
        let ready = sandbox.work().join("ready");
        // The shell runs the trap after the current command, hence the short sleeps.
        let script = "trap 'echo terminated; exit 5' TERM; touch ready; \
                      while :; do sleep 0.05; done";
        let running = Running::start(link(&sandbox, user, script));
        wait_until("the script's trap", || ready.exists());
        // commute installs its handlers only after the command has started.
        wait_until("commute's handlers", || handles(running.pid(), &FORWARDED));
        running.signal(Signal::TERM);
        running.finish().exits_with(5).stdout_contains("terminated");
    }
}

#[test]
fn streams_environment_and_directory_are_inherited() {
    for user in users() {
        let sandbox = Sandbox::new();
        let script = "read line; echo \"stdin: $line\"; echo \"$VARIABLE\"; pwd; echo error >&2";
        let mut child = link(&sandbox, user, script)
            .env("VARIABLE", "value")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"a line\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let work = sandbox.work();
        assert_eq!(
            stdout,
            format!("stdin: a line\nvalue\n{}\n", work.display())
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("error\n"), "{stderr}");
    }
}

#[test]
fn terminal_is_inherited() {
    if common::find_program("script").is_none() {
        return testing::skip("script (util-linux), which opens a terminal, is missing");
    }
    for user in users() {
        let sandbox = Sandbox::new();
        // SIGTTOU would stop `stty` if it were not in the terminal's foreground process group.
        let inner = "test -t 0 && test -t 1 && stty rows 33 && stty size && exit 9";
        let commute = sandbox.commute_as(user, &[]);
        let program = commute.get_program().to_str().unwrap();
        let line = format!("'{program}' link lan -- sh -c '{inner}'");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        sandbox.configure(&mut command, user);
        CommandOutput::of(command)
            .exits_with(9)
            .stdout_contains("33 ");
    }
}

#[test]
fn command_runs_as_the_caller_and_may_only_open_raw_sockets() {
    for user in users() {
        let sandbox = Sandbox::new();
        let uid = match user {
            User::Caller => rustix::process::getuid().as_raw(),
            User::Ordinary => common::NOBODY_ID,
        };
        let output = run(&sandbox, user, "id -u; grep ^Cap /proc/self/status").exits_with(0);
        let mut lines = output.stdout.lines();
        assert_eq!(lines.next(), Some(uid.to_string().as_str()), "{output}");
        let sets: Vec<_> = lines
            .filter(|line| !line.starts_with("CapBnd"))
            .map(|line| line.split_whitespace().nth(1))
            .collect();
        // Bit 13 is CAP_NET_RAW.
        assert_eq!(sets, [Some("0000000000002000"); 4], "{output}");
    }
}

#[test]
fn far_end_is_the_only_other_host() {
    for user in users() {
        let sandbox = Sandbox::new();
        let script = "grep -w far /etc/hosts; tail -n +3 /proc/net/dev | cut -d: -f1";
        let output = run(&sandbox, user, script)
            .exits_with(0)
            .stdout_contains("far");
        let interfaces = output.stdout.lines().filter(|line| !line.contains("far"));
        assert_eq!(interfaces.count(), 2, "loopback and the link: {output}");
    }
}

#[test]
fn kill_9_leaves_nothing() {
    for user in users() {
        let sandbox = Sandbox::new();
        // One of the two is in its own session, where no signal to a process group reaches it.
        let script = "setsid sleep 1000 & exec sleep 1000";
        let mut running = Running::start(link(&sandbox, user, script));
        wait_until("both sleeps", || {
            let processes = descendants(running.pid());
            processes.iter().filter(|(_, name)| name == "sleep").count() == 2
        });
        running.child.kill().unwrap();
        running.finish();
    }
}

#[test]
fn overrides_are_printed() {
    let sandbox = Sandbox::new();
    let options = ["--rtt", "80ms", "--loss", "2%", "--down", "5Mbit/s"];
    let args = [&["link", "lan"], &options[..], &["--", "true"]].concat();
    sandbox
        .run(&args)
        .exits_with(0)
        .stderr_contains("RTT 80 ms")
        .stderr_contains("loss 2 %")
        .stderr_contains("down 5 ");
}

/// As with env(1): options after the command are the command's.
#[test]
fn the_command_needs_no_hyphens_before_it() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["link", "lan", "--rtt", "80ms", "sh", "-c", "exit 7"])
        .exits_with(7)
        .stderr_contains("RTT 80 ms");
    let quiet = sandbox.run(&["link", "lan", "-q", "sh", "-c", "exit 7"]);
    let quiet = quiet.exits_with(7);
    assert!(!quiet.stderr.contains("RTT"), "{quiet}");
}

#[test]
fn quiet_is_silent() {
    for user in users() {
        let sandbox = Sandbox::new();
        let args = [
            "link",
            "lan",
            "-q",
            "--forward",
            "80=127.0.0.1:9",
            "--",
            "true",
        ];
        let output = CommandOutput::of(sandbox.commute_as(user, &args)).exits_with(0);
        assert_eq!((&*output.stdout, &*output.stderr), ("", ""), "{output}");
    }
}

/// Standard error may be a pipe that nobody reads any more.
#[test]
fn audit_without_a_reader_is_no_failure() {
    let sandbox = Sandbox::new();
    let script =
        "{ \"$0\" link lan --audit -- sleep 0.3; echo $? >status; } 2>&1 >/dev/null | true";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_commute")]);
    sandbox.configure(&mut command, User::Caller);
    CommandOutput::of(command).exits_with(0);
    let status = std::fs::read_to_string(sandbox.work().join("status")).unwrap();
    assert_eq!(status.trim(), "0");
}
