//! Programs on the host: their environment, their log, and how they end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use driver::process::{Process, Started, with_last_line};

/// Long enough for a busy machine; only a failing test waits for it.
const TIMEOUT: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

fn start(script: &str) -> Started {
    Process::start(&shell(script)).unwrap()
}

fn read_to_end(started: &Started) -> String {
    let mut text = String::new();
    let mut replies = File::from(started.read.try_clone().unwrap());
    replies.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn environment_has_only_the_listed_variables() {
    let started = start("env | cut -d= -f1 | sort > $COMMUTE_OUT");
    let names = read_to_end(&started);
    // dash adds PWD.
    let names: Vec<_> = names.lines().filter(|name| *name != "PWD").collect();
    let expected = [
        "COMMUTE_IN",
        "COMMUTE_OUT",
        "HOME",
        "LANG",
        "PATH",
        "TMPDIR",
    ];
    assert_eq!(names, expected);
}

#[test]
fn exit_is_end_of_file_even_for_pipes_never_opened() {
    let mut started = start("exit 3");
    assert_eq!(read_to_end(&started), "");
    assert_eq!(started.process.close(TIMEOUT).unwrap().code(), Some(3));
}

#[test]
fn program_exits_when_its_input_ends() {
    let Started {
        mut process,
        read,
        write,
    } = start("cat $COMMUTE_IN > /dev/null; exit 7");
    drop((read, write));
    assert_eq!(process.close(TIMEOUT).unwrap().code(), Some(7));
}

#[test]
fn close_kills_a_program_that_does_not_exit() {
    let mut started = start("exec sleep 1000");
    let began = Instant::now();
    let status = started.process.close(Duration::from_millis(50)).unwrap();
    assert_eq!(status.signal(), Some(9));
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn the_reason_before_a_stack_trace_is_the_last_line() {
    let ends_with = |log: &str| with_last_line("it failed", log);
    let trace = "starting\nlibrary not built; run: make it\n\tat Main.main(Main.java:15)\n  at Main.<clinit>\n\n";
    assert_eq!(
        ends_with(trace),
        "it failed; its log ends: library not built; run: make it"
    );
    assert_eq!(ends_with("  a\n  b\n"), "it failed; its log ends: b");
    assert_eq!(ends_with("\n"), "it failed");
}

#[test]
fn log_is_complete_once_the_program_has_exited() {
    let mut started = start("seq 1 100000; echo the end >&2; echo; exit 1");
    assert_eq!(read_to_end(&started), "");
    let explained = started.process.kill_and_explain("it stopped");
    assert_eq!(explained, "it stopped; its log ends: the end");
    let tail = started.process.log_tail();
    assert_eq!(tail.len(), 4096);
    assert!(tail.ends_with("\n100000\nthe end\n\n"), "{tail}");
}

#[test]
fn log_that_outlives_the_program_is_not_waited_for() {
    let mut started = start("sleep 30 & echo started; exit 0");
    let began = Instant::now();
    assert!(started.process.close(TIMEOUT).unwrap().success());
    assert!(began.elapsed() < TIMEOUT);
}

#[test]
fn program_that_exits_without_connecting_is_an_error_at_once() {
    let began = Instant::now();
    let error = Process::start_connecting(&shell("exit 0"), began + TIMEOUT).unwrap_err();
    assert_eq!(error.to_string(), "exited without connecting");
    assert!(began.elapsed() < TIMEOUT);
}

#[test]
fn missing_program_is_an_error() {
    let command = ["/nowhere/driver".to_owned()];
    let error = Process::start(&command).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(Process::start(&[]).is_err());
}
