//! Processes inside a bench: credentials, environment, exit.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::ProcStatus;
use pump::{Bench, Side, Spawn};

/// A deadline against hanging.
const EXIT_WITHIN: Option<Duration> = Some(Duration::from_secs(20));

/// Runs a shell command at the client and returns its output.
fn shell(bench: &mut Bench, command: &str) -> String {
    common::output(common::spawn(
        bench,
        Side::Client,
        "/bin/sh".into(),
        &["-c", command],
    ))
}

#[test]
fn process_has_the_callers_user_and_no_capabilities() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let status = ProcStatus(shell(&mut bench, "cat /proc/self/status"));
    status.assert_no_capabilities();
    let (uid, gid) = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    assert_eq!(status.field("Uid"), format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(status.field("Gid"), format!("{gid}\t{gid}\t{gid}\t{gid}"));
    assert_eq!(status.field("SigBlk"), "0000000000000000");
}

#[test]
fn process_gets_only_the_listed_environment_and_descriptors() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    assert_eq!(
        shell(
            &mut bench,
            "/usr/bin/env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD="
        ),
        "PATH=/usr/sbin:/usr/bin:/bin\n"
    );
    // 3 is the directory being listed.
    let listed = shell(&mut bench, "ls /proc/self/fd");
    assert_eq!(
        listed.split_whitespace().collect::<Vec<_>>(),
        ["0", "1", "2", "3"]
    );

    let (mut ours, theirs) = std::io::pipe().unwrap();
    let spawn = Spawn {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "echo here >&9".into()],
        fds: vec![(theirs.into(), 9)],
        ..Spawn::default()
    };
    let mut process = bench.spawn(Side::Client, spawn).unwrap();
    assert_eq!(std::io::read_to_string(&mut ours).unwrap(), "here\n");
    assert!(process.wait(EXIT_WITHIN).unwrap().unwrap().status.success());
}

#[test]
fn names_resolve_to_the_server() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let (_server, _output) = common::serve(&mut bench, "[::]:80");
    let fetch = common::spawn_peer(&mut bench, Side::Client, &["fetch", "server.test:80", "5"]);
    let output = common::output(fetch);
    assert!(output.starts_with("5 "), "{output}");
    let address = output
        .split_whitespace()
        .last()
        .unwrap()
        .parse::<std::net::SocketAddr>()
        .unwrap();
    assert!(
        Side::Server.addresses().all().contains(&address.ip()),
        "{output}"
    );
    let hosts = shell(&mut bench, "cat /etc/hosts /etc/nsswitch.conf");
    assert!(hosts.contains("198.18.0.2 server.test\n") && hosts.contains("hosts: files\n"));
}

#[test]
fn exit_codes_and_signals_are_reported() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let mut start = |command: &str| {
        common::spawn(&mut bench, Side::Server, "/bin/sh".into(), &["-c", command]).0
    };
    let code = start("exit 7").wait(EXIT_WITHIN).unwrap().unwrap();
    assert_eq!(code.status.code(), Some(7));

    let mut sleeper = start("exec sleep 1000");
    assert_eq!(sleeper.wait(Some(Duration::ZERO)).unwrap(), None);
    sleeper.kill(libc::SIGTERM).unwrap();
    assert_eq!(
        sleeper.wait(EXIT_WITHIN).unwrap().unwrap().status.signal(),
        Some(libc::SIGTERM)
    );
    // Signalling a process that has ended is not an error.
    sleeper.kill(libc::SIGTERM).unwrap();
}

#[test]
fn programs_run_in_the_normal_scheduling_class() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    // Field 41 of proc_pid_stat(5): 0 is SCHED_OTHER.
    let stat = shell(&mut bench, "cat /proc/self/stat");
    let after_name = stat.rsplit_once(')').expect("a name in brackets").1;
    assert_eq!(after_name.split_whitespace().nth(38), Some("0"), "{stat}");
}

#[test]
fn missing_program_is_named_in_the_error() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let spawn = Spawn {
        program: "/no/such/program".into(),
        ..Spawn::default()
    };
    let e = bench.spawn(Side::Client, spawn).unwrap_err();
    assert!(e.to_string().contains("/no/such/program"), "{e}");
    // The bench still works.
    assert_eq!(shell(&mut bench, "echo on"), "on\n");
}

#[test]
fn dropping_a_process_kills_descendants_in_other_groups() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    // Two shells whose command lines contain 1234, the inner one in a group of its own. It stops
    // itself, since a child of it would have its command line until exec.
    let command = "setsid sh -c 'echo started; kill -STOP $$; : 1234' & wait # 1234";
    let (process, mut output) =
        common::spawn(&mut bench, Side::Client, "/bin/sh".into(), &["-c", command]);
    common::expect_line(&mut output, "started");
    // The brackets keep this command from finding itself.
    let alive = "grep -l '[1]234' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
    assert_eq!(shell(&mut bench, alive).trim(), "2");
    drop(process);
    // All of them have the pipe open: its end means that all have ended.
    assert_eq!(std::io::read_to_string(&mut output).unwrap(), "");
}

#[test]
fn cpu_time_is_charged_to_the_end_that_used_it() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.begin_window().unwrap();
    let burn = common::spawn_peer(&mut bench, Side::Server, &["burn", "50"]);
    common::output(burn);
    let window = bench.end_window().unwrap();
    assert!(window.server.cpu_ns >= 50_000_000, "{:?}", window.server);
    assert_eq!(window.client.cpu_ns, 0, "{:?}", window.client);
}

#[test]
fn foreground_process_gets_the_terminal_and_its_signals() {
    if common::bench().is_none() {
        return;
    }
    // `script` makes a terminal and passes its own input to the line discipline. A shell cannot trap
    // what was ignored when it started, as the interrupt is in the background of a script.
    let peer = common::peer();
    let inner = "trap 'echo interrupted; exit 3' INT; echo up; read never";
    let terminal = Command::new("script")
        .args([
            "-qec",
            &format!(
                "env --default-signal=INT {} foreground sh -c \"{inner}\"",
                peer.display()
            ),
            "/dev/null",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = terminal else {
        return testing::skip("script (util-linux), which makes a terminal, is missing");
    };
    let mut keys = terminal.stdin.take().expect("piped");
    let mut output = BufReader::new(terminal.stdout.take().expect("piped"));
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "up");
    keys.write_all(b"\x03").unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    terminal.wait().unwrap();
    assert!(rest.contains("interrupted"), "{rest}");
    // The owner survived the signal, took the terminal back and wrote to it.
    assert!(
        rest.contains("ended: Some(ExitStatus(unix_wait_status(768)))"),
        "{rest}"
    );
}

/// With a controlling terminal it could type commands into the shell that started the bench.
#[test]
fn background_process_has_no_controlling_terminal() {
    if common::bench().is_none() {
        return;
    }
    let peer = common::peer();
    // The seventh field is the controlling terminal, 0 for none (proc_pid_stat(5)).
    let terminal = "cut -d\\  -f7 /proc/self/stat; exec 2>/dev/null </dev/tty && echo opened";
    let run = |verb: &str| {
        let command = format!("{} {verb} sh -c '{terminal}'", peer.display());
        Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .stdin(Stdio::null())
            .output()
    };
    let Ok(background) = run("background") else {
        return testing::skip("script (util-linux), which makes a terminal, is missing");
    };
    let background = String::from_utf8(background.stdout).unwrap();
    assert!(
        background.starts_with("0\r\n") && !background.contains("opened"),
        "{background}"
    );
    let foreground = String::from_utf8(run("foreground").unwrap().stdout).unwrap();
    assert!(
        !foreground.starts_with("0\r\n") && foreground.contains("opened"),
        "{foreground}"
    );
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
