//! `commute link`: any command behind an emulated network, as if there were no commute.

mod common;

use common::{House, Said, Who, command, everybody};

use std::io::Write as _;
use std::process::Stdio;

use rustix::process::Signal;

/// `commute link lan -- sh -c SCRIPT`.
fn script(house: &House, who: Who, script: &str) -> Said {
    Said::of(house.commute_as(who, &["link", "lan", "--", "sh", "-c", script]))
}

#[test]
fn the_exit_status_is_the_commands() {
    for who in everybody() {
        let house = House::new();
        script(&house, who, "exit 0").code(0);
        script(&house, who, "exit 7").code(7);
        script(&house, who, "kill -TERM $$").code(128 + 15);
        script(&house, who, "kill -KILL $$").code(128 + 9);
    }
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let house = House::new();
    house
        .run(&["link", "lan", "--", "no-such-command"])
        .code(127)
        .complains("no-such-command");
    let file = house.write("no-program", "just text\n");
    house
        .run(&["link", "lan", "--", file.to_str().unwrap()])
        .code(126)
        .complains("no-program");
}

#[test]
fn the_command_is_told_of_signals() {
    for who in everybody() {
        let house = House::new();
        let ready = house.work().join("ready");
        let script = "trap 'echo told; exit 5' TERM; touch ready; \
                      while :; do sleep 0.05; done";
        let running =
            command::Running::start(house.commute_as(who, &["link", "lan", "--", "sh", "-c", script]));
        command::until("the command", || ready.exists());
        running.signal(Signal::TERM);
        running.end().code(5).prints("told");
    }
}

#[test]
fn streams_environment_and_folder_are_the_callers() {
    for who in everybody() {
        let house = House::new();
        let script = "read line; echo \"got $line\"; echo \"$MARK\"; pwd; echo aside >&2";
        let mut child = house
            .commute_as(who, &["link", "lan", "--", "sh", "-c", script])
            .env("MARK", "as it was")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"a line\n").unwrap();
        let output = child.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let work = house.work();
        assert_eq!(out, format!("got a line\nas it was\n{}\n", work.display()));
        assert!(
            String::from_utf8(output.stderr)
                .unwrap()
                .contains("aside\n")
        );
    }
}

#[test]
fn the_terminal_is_the_callers() {
    if common::program("script").is_none() {
        return testing::skip("script (util-linux) is missing, which makes a terminal");
    }
    for who in everybody() {
        let house = House::new();
        // In the foreground of its terminal, else `stty` would be stopped by SIGTTOU.
        let inner = "test -t 0 && test -t 1 && stty rows 33 && stty size && exit 9";
        let commute = house.commute_as(who, &[]);
        let program = commute.get_program().to_str().unwrap();
        let line = format!("'{program}' link lan -- sh -c '{inner}'");
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]);
        house.furnish(&mut script, who);
        let said = Said::of(script).code(9);
        assert!(said.out.contains("33 "), "{said}");
    }
}

#[test]
fn the_user_is_the_caller_without_capabilities() {
    for who in everybody() {
        let house = House::new();
        let uid = match who {
            Who::Caller => rustix::process::getuid().as_raw(),
            Who::Nobody => common::NOBODY,
        };
        let said = script(&house, who, "id -u; grep ^Cap /proc/self/status").code(0);
        let mut lines = said.out.lines();
        assert_eq!(lines.next(), Some(uid.to_string().as_str()), "{said}");
        let sets: Vec<_> = lines
            .filter(|line| !line.starts_with("CapBnd"))
            .map(|line| line.split_whitespace().nth(1))
            .collect();
        assert_eq!(sets, [Some("0000000000000000"); 4], "{said}");
    }
}

#[test]
fn the_only_other_host_is_the_far_end() {
    for who in everybody() {
        let house = House::new();
        let said = script(
            &house,
            who,
            "grep -w far /etc/hosts; tail -n +3 /proc/net/dev | cut -d: -f1",
        )
        .code(0);
        assert!(said.out.contains("far"), "{said}");
        let interfaces: Vec<_> = said
            .out
            .lines()
            .filter(|line| !line.contains("far"))
            .map(str::trim)
            .collect();
        assert_eq!(interfaces.len(), 2, "its own loopback and the link: {said}");
    }
}

#[test]
fn kill_9_leaves_nothing() {
    for who in everybody() {
        let house = House::new();
        let ready = house.work().join("ready");
        // A grandchild in a session of its own, which no signal to a group reaches.
        let script = "setsid sleep 1000 & touch ready; exec sleep 1000";
        let mut running =
            command::Running::start(house.commute_as(who, &["link", "lan", "--", "sh", "-c", script]));
        command::until("the command", || ready.exists());
        command::until("two sleepers", || {
            let below = common::leaks::below(running.pid());
            below.iter().filter(|(_, name)| name == "sleep").count() == 2
        });
        running.child.kill().unwrap();
        running.end();
    }
}

#[test]
fn overrides_are_in_the_printed_numbers() {
    let house = House::new();
    let options = ["--rtt", "80ms", "--loss", "2%", "--down", "5Mbit/s"];
    let args = [&["link", "lan"], &options[..], &["--", "true"]].concat();
    let said = house.run(&args).code(0);
    for part in ["RTT 80 ms", "loss 2 %", "down 5 "] {
        assert!(said.err.contains(part), "no {part:?}: {said}");
    }
    house
        .run(&["link", "lan", "--loss", "2", "--", "true"])
        .code(1)
        .complains("--loss");
    house
        .run(&["link", "lann", "--", "true"])
        .code(1)
        .complains("did you mean `lan`?");
}
