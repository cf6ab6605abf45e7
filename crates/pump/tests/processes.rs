//! Programs inside a bench: who they are, what they see, how they end.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use pump::{Bench, Side, Spawn};

const SOON: Option<Duration> = Some(Duration::from_secs(20));

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
fn a_command_has_the_callers_user_and_no_capability() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let status = shell(&mut bench, "cat /proc/self/status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {status}"))
            .trim()
            .to_owned()
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(field("NoNewPrivs:"), "1");
    let (uid, gid) = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    assert_eq!(field("Uid:"), format!("{uid}\t{uid}\t{uid}\t{uid}"));
    assert_eq!(field("Gid:"), format!("{gid}\t{gid}\t{gid}\t{gid}"));
    assert_eq!(field("SigBlk:"), "0000000000000000");
}

#[test]
fn a_command_gets_its_environment_and_descriptors_and_no_others() {
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
    // One of them is the directory being listed.
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
    assert!(process.wait(SOON).unwrap().unwrap().status.success());
}

#[test]
fn names_resolve_to_the_server_and_reach_it() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let (_server, _output) = common::serve(&mut bench, "[::]:80");
    let said = common::spawn_peer(&mut bench, Side::Client, &["fetch", "server.test:80", "5"]);
    let said = common::output(said);
    assert!(said.starts_with("5 "), "{said}");
    let address = said
        .split_whitespace()
        .last()
        .unwrap()
        .parse::<std::net::SocketAddr>()
        .unwrap();
    assert!(
        Side::Server.addresses().all().contains(&address.ip()),
        "{said}"
    );
    let hosts = shell(&mut bench, "cat /etc/hosts /etc/nsswitch.conf");
    assert!(hosts.contains("198.18.0.2 server.test\n") && hosts.contains("hosts: files\n"));
}

#[test]
fn exit_codes_and_signals_come_back() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let mut start = |command: &str| {
        common::spawn(&mut bench, Side::Server, "/bin/sh".into(), &["-c", command]).0
    };
    let code = start("exit 7").wait(SOON).unwrap().unwrap();
    assert_eq!(code.status.code(), Some(7));

    let mut sleeper = start("exec sleep 1000");
    assert_eq!(sleeper.wait(Some(Duration::ZERO)).unwrap(), None);
    sleeper.kill(libc::SIGTERM).unwrap();
    assert_eq!(
        sleeper.wait(SOON).unwrap().unwrap().status.signal(),
        Some(libc::SIGTERM)
    );
    // Signalling the dead is no error.
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
fn a_program_that_is_not_there_is_named() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let spawn = Spawn {
        program: "/no/such/program".into(),
        ..Spawn::default()
    };
    let e = bench.spawn(Side::Client, spawn).unwrap_err();
    assert!(e.to_string().contains("/no/such/program"), "{e}");
    // And the bench goes on.
    assert_eq!(shell(&mut bench, "echo on"), "on\n");
}

#[test]
fn dropping_a_process_ends_its_descendants_in_other_groups_too() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let command = "setsid sleep 1234 & echo started; exec sleep 1234";
    let (process, mut output) =
        common::spawn(&mut bench, Side::Client, "/bin/sh".into(), &["-c", command]);
    common::expect_line(&mut output, "started");
    // The brackets keep this command itself out of what it finds.
    let alive = "grep -l '[1]234' /proc/[0-9]*/cmdline 2>/dev/null | wc -l";
    // Until `setsid` has exec'd, and after, the number is in two command lines.
    assert_eq!(shell(&mut bench, alive).trim(), "2");
    drop(process);
    // Both hold the pipe: its end says that both are gone.
    assert_eq!(std::io::read_to_string(&mut output).unwrap(), "");
}

#[test]
fn costs_of_both_ends_are_told_apart() {
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
fn the_terminal_and_its_signals_are_the_commands() {
    if common::bench().is_none() {
        return;
    }
    // `script` gives a terminal: what is written to it, the terminal's line discipline reads.
    let peer = common::peer();
    let inner = "trap 'echo interrupted; exit 3' INT; echo up; read never";
    let terminal = Command::new("script")
        .args([
            "-qec",
            &format!("{} foreground sh -c \"{inner}\"", peer.display()),
            "/dev/null",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = terminal else {
        return testing::skip("script (util-linux) is missing, which makes a terminal");
    };
    let mut keys = terminal.stdin.take().expect("piped");
    let mut screen = BufReader::new(terminal.stdout.take().expect("piped"));
    let mut line = String::new();
    screen.read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "up");
    keys.write_all(b"\x03").unwrap();
    let mut rest = String::new();
    screen.read_to_string(&mut rest).unwrap();
    terminal.wait().unwrap();
    assert!(rest.contains("interrupted"), "{rest}");
    // The owner lived on, took the terminal back and wrote to it.
    assert!(
        rest.contains("ended: Some(ExitStatus(unix_wait_status(768)))"),
        "{rest}"
    );
}

#[test]
fn again_without_privileges() {
    common::again_without_privileges();
}
