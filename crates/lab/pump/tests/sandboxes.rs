//! Programs that are not trusted: their user, capabilities, system calls and files.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use common::ProcStatus;
use pump::{Bench, Confinement, Sandbox, SandboxId, Side, Spawn};

/// Linux's overflow user, usually called nobody.
const NOBODY: u32 = 65534;
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Returns the user for confined programs, if there may be another than the caller.
fn user(bench: &Bench) -> Option<u32> {
    Some(NOBODY).filter(|_| !bench.facts().rootless)
}

/// A folder of the machine that a test uses.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

fn make(bench: &mut Bench, sandbox: Sandbox) -> SandboxId {
    let sandbox = Sandbox {
        user: user(bench),
        max_file_bytes: MAX_FILE_BYTES,
        ..sandbox
    };
    bench.make_sandbox(&sandbox).unwrap()
}

fn home() -> PathBuf {
    "/tmp/commute-test-home/mine".into()
}

/// Makes a sandbox with a home.
fn with_home(bench: &mut Bench) -> SandboxId {
    let sandbox = Sandbox {
        home: Some(home()),
        ..Sandbox::default()
    };
    make(bench, sandbox)
}

/// Runs a shell command in a sandbox. Returns what it prints.
fn shell(bench: &mut Bench, sandbox: SandboxId, command: &str) -> String {
    let (output, input) = std::io::pipe().unwrap();
    let confinement = Confinement {
        user: user(bench),
        max_processes: None,
        max_memory_bytes: 1 << 30,
        max_file_bytes: 1 << 30,
    };
    let spawn = Spawn {
        program: "/bin/sh".into(),
        args: ["-c", command].map(Into::into).into(),
        env: vec![("PATH".into(), "/usr/sbin:/usr/bin:/bin".into())],
        cwd: Some("/".into()),
        fds: vec![(input.try_clone().unwrap().into(), 1), (input.into(), 2)],
        confinement: Some(confinement),
        sandbox: Some(sandbox),
        ..Spawn::default()
    };
    let mut process = bench.spawn(Side::Client, spawn).unwrap();
    let printed = std::io::read_to_string(output).unwrap();
    process.wait(None).unwrap();
    printed
}

#[test]
fn confined_process_has_no_capability_to_gain() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let sandbox = make(&mut bench, Sandbox::default());
    let status = ProcStatus(shell(&mut bench, sandbox, "cat /proc/self/status"));
    status.assert_no_capabilities();
    // SECCOMP_MODE_FILTER.
    assert_eq!(status.field("Seccomp"), "2");
    if let Some(user) = user(&bench) {
        assert_eq!(
            status.field("Uid"),
            format!("{user}\t{user}\t{user}\t{user}")
        );
        assert_eq!(status.field("Groups"), "");
    }
}

#[test]
fn sandbox_lasts_until_the_endpoints_are_cleared() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let dirs = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
    let files = [&dirs[..], &[home()]].concat();
    let files = files
        .iter()
        .map(|dir| dir.join("commute-test-mark").display().to_string());
    let files = files.collect::<Vec<_>>().join(" ");
    let first = with_home(&mut bench);
    let count = format!("ls {files} 2>/dev/null | wc -l; ipcs -m | grep -c ^0x");
    let leave = format!("touch {files} && ipcmk -M 100");
    shell(&mut bench, first, &leave);
    assert_eq!(shell(&mut bench, first, &count), "5\n1\n");
    // Another sandbox at the same time, and one after it.
    let second = with_home(&mut bench);
    assert_eq!(shell(&mut bench, second, &count), "0\n0\n");
    bench.clear_endpoints().unwrap();
    let third = with_home(&mut bench);
    assert_eq!(shell(&mut bench, third, &count), "0\n0\n");
    for dir in dirs {
        assert!(!dir.join("commute-test-mark").exists(), "{}", dir.display());
    }
    let gone = Spawn {
        program: "/bin/true".into(),
        sandbox: Some(first),
        ..Spawn::default()
    };
    let gone = bench.spawn(Side::Client, gone).unwrap_err();
    assert!(gone.to_string().contains("sandbox is gone"), "{gone}");
}

#[test]
fn machine_is_hidden_or_read_only() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let [listed, written, other] = [folder(), folder(), folder()];
    for dir in [&listed, &written, &other] {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(dir.path().join("there"), "text").unwrap();
    }
    let path = |dir: &tempfile::TempDir| dir.path().to_owned();
    let sandbox = Sandbox {
        readable: vec![path(&listed)],
        writable: vec![path(&written)],
        ..Sandbox::default()
    };
    let sandbox = make(&mut bench, sandbox);
    let [listed, written, other] = [&listed, &written, &other].map(path);
    let mut run = |command: &str, dir: &Path| {
        let succeeds = format!(
            "cd {} && {command} >/dev/null 2>&1 && echo yes",
            dir.display()
        );
        shell(&mut bench, sandbox, &succeeds).ends_with("yes\n")
    };
    let root = Path::new("/");
    assert!(run("cat there", &listed) && !run("touch new", &listed));
    assert!(run("cat there", &written) && run("touch new", &written));
    assert!(written.join("new").exists(), "it is the machine's");
    assert!(!run("true", &other));
    for dir in ["/etc", "/usr", "/"] {
        assert!(!run("touch commute-test", Path::new(dir)), "{dir}");
    }
    assert!(!run("ls -A /home/*", root), "homes are hidden");
    assert!(run("echo x > /dev/null", root), "devices can be written to");
    assert!(run("grep server.test /etc/hosts", root), "names resolve");
}

#[test]
fn links_lead_to_listed_files() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let dir = folder();
    // In the order of their names, as they would be mounted: a link in a listed folder, one in a hidden folder, the file.
    let [listed, hidden, last] = ["a", "b", "c"].map(|name| dir.path().join(name));
    for dir in [&listed, &hidden, &last] {
        fs::create_dir(dir).unwrap();
    }
    fs::write(last.join("file"), "text").unwrap();
    fs::write(hidden.join("other"), "text").unwrap();
    std::os::unix::fs::symlink("../b/link", listed.join("link")).unwrap();
    std::os::unix::fs::symlink(last.join("file"), hidden.join("link")).unwrap();
    for readable in [
        vec![listed.join("link")],
        vec![listed.clone(), listed.join("link")],
    ] {
        let sandbox = Sandbox {
            readable,
            ..Sandbox::default()
        };
        let sandbox = make(&mut bench, sandbox);
        let command = format!(
            "cd {} && cat a/link b/link c/file; ls b",
            dir.path().display()
        );
        let printed = shell(&mut bench, sandbox, &command);
        assert_eq!(printed, "texttexttextlink\n");
    }
}

#[test]
fn devices_are_few_and_no_terminals() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let sandbox = make(&mut bench, Sandbox::default());
    let printed = shell(&mut bench, sandbox, "ls -A /dev");
    let names: Vec<&str> = printed.lines().collect();
    let expected = [
        "fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero",
    ];
    assert_eq!(names, expected);
    let uses = "head -c 4 /dev/urandom /dev/zero >/dev/null && echo text | cat /dev/stdin \
                && ! echo x 2>/dev/null >/dev/full && echo full";
    assert_eq!(shell(&mut bench, sandbox, uses), "text\nfull\n");
}

/// The devices in `/sys` are those of the namespace of whoever mounted it.
#[test]
fn network_devices_of_the_machine_are_hidden() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let sandbox = make(&mut bench, Sandbox::default());
    // Those of the init process: its ends of the link.
    let devices = shell(&mut bench, sandbox, "ls /sys/class/net");
    assert_eq!(devices, "client\nlo\nserver\n");
    let has_cgroups = fs::read_dir("/sys/fs/cgroup").is_ok_and(|mut dir| dir.next().is_some());
    let cgroups = shell(&mut bench, sandbox, "ls /sys/fs/cgroup");
    assert_eq!(!cgroups.is_empty(), has_cgroups, "{cgroups}");
}

/// A list of processes names none of these that a signal still reaches.
#[test]
fn processes_that_fork_and_exit_end_with_their_cell() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let dir = folder();
    let script = dir.path().join("forever");
    fs::write(&script, "setsid sh $0 &").unwrap();
    let sandbox = Sandbox {
        readable: vec![dir.path().to_owned()],
        ..Sandbox::default()
    };
    let sandbox = make(&mut bench, sandbox);
    let begin = format!(
        "sh {} </dev/null >/dev/null 2>&1; sleep 0.2",
        script.display()
    );
    shell(&mut bench, sandbox, &begin);
    let killed = bench.clear_endpoints().unwrap();
    let expected = |name: &String| name == "sh" || name == "setsid";
    assert!(
        !killed.is_empty() && killed.iter().all(expected),
        "{killed:?}"
    );
    let sandbox = make(&mut bench, Sandbox::default());
    // The last field is the number of the newest process (proc_loadavg(5)).
    let printed = shell(
        &mut bench,
        sandbox,
        "cat /proc/loadavg; sleep 0.3; cat /proc/loadavg",
    );
    let newest = |line: &str| line.rsplit(' ').next().unwrap().parse::<u32>().unwrap();
    let newest: Vec<u32> = printed.lines().map(newest).collect();
    assert!(newest[1] - newest[0] < 10, "{printed}");
}

#[test]
fn private_files_are_limited_together() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let sandbox = make(&mut bench, Sandbox::default());
    let command = "head -c 3000000 /dev/zero > /tmp/a && echo one; head -c 3000000 /dev/zero > /dev/shm/b || echo full";
    let printed = shell(&mut bench, sandbox, command);
    assert!(
        printed.starts_with("one\n") && printed.ends_with("full\n"),
        "{printed}"
    );
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
