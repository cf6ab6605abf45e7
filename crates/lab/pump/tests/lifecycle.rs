//! Starting and ending benches: in parallel, dropped, and with their owner killed.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use pump::{Bench, Process, Side};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use common::prober::{Probes, probe};

/// A deadline against hanging. The kernel kills a PID namespace when its init ends, so processes
/// usually end within milliseconds.
const GONE_WITHIN: Timespec = Timespec {
    tv_sec: 20,
    tv_nsec: 0,
};

#[test]
fn parallel_benches_are_isolated() {
    let (Some(mut a), Some(mut b)) = (common::bench(), common::bench()) else {
        return;
    };
    for bench in [&mut a, &mut b] {
        bench.set_network(&common::delay_ms(1), 1).unwrap();
        bench.begin_window().unwrap();
    }
    let probes = Probes {
        direction: link::Direction::Up,
        count: 50,
        spacing_ns: 1_000_000,
        ip_bytes: 100,
    };
    let table = probe(&mut a, &probes).unwrap();
    assert!(table.iter().all(|p| p.received_ns.is_some()));
    assert_eq!(a.end_window().unwrap().up.sent.total().packets, 50);
    assert_eq!(b.end_window().unwrap().up.sent.total().packets, 0);
    drop(a);
    let table = probe(&mut b, &probes).unwrap();
    assert!(table.iter().all(|p| p.received_ns.is_some()));
}

#[test]
fn dropped_bench_leaves_nothing() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let tag = format!("9{}", std::process::id());
    let sleepers = spawn_sleepers(&mut bench, &tag);
    let processes = tagged_processes(&tag);
    drop(sleepers);
    drop(bench);
    assert_gone(&processes);
}

/// The owner that the next test kills; not a test by itself.
#[test]
#[ignore = "run by killed_owner_leaves_nothing"]
fn owner() {
    let mut bench = common::try_bench().unwrap();
    let tag = std::env::var("TAG").unwrap();
    let _sleepers = spawn_sleepers(&mut bench, &tag);
    println!("OWNER READY");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn killed_owner_leaves_nothing() {
    if common::bench().is_none() {
        return;
    }
    let tag = format!("8{}", std::process::id());
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "owner"])
        .env("TAG", &tag)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(owner.stdout.take().unwrap());
    let ready = output
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("OWNER READY"));
    assert!(ready, "the owner could not start its bench");
    let processes = tagged_processes(&tag);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_gone(&processes);
}

/// Runs a shell at each end whose command line contains the tag.
fn spawn_sleepers(bench: &mut Bench, tag: &str) -> Vec<(Process, BufReader<fs::File>)> {
    Side::BOTH
        .into_iter()
        .map(|side| {
            let command = format!("sleep {tag} & echo up; wait");
            let (process, mut output) =
                common::spawn(bench, side, "/bin/sh".into(), &["-c", &command]);
            common::expect_line(&mut output, "up");
            (process, output)
        })
        .collect()
}

/// Opens all processes of the machine whose command line contains the tag: at least both shells.
fn tagged_processes(tag: &str) -> Vec<OwnedFd> {
    let processes: Vec<OwnedFd> = fs::read_dir("/proc")
        .expect("/proc is mounted")
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let tagged = String::from_utf8_lossy(&command).contains(tag);
            let pid = Pid::from_raw(pid).filter(|_| tagged)?;
            pidfd_open(pid, PidfdFlags::empty()).ok()
        })
        .collect();
    assert!(processes.len() >= 2, "{processes:?}");
    processes
}

/// Waits for the processes to end, and asserts that no interface of a bench is left on the host.
fn assert_gone(processes: &[OwnedFd]) {
    for process in processes {
        // A pidfd is readable once its process has ended.
        let mut polled = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
        let ready = poll(&mut polled, Some(&GONE_WITHIN)).expect("poll works");
        assert_eq!(ready, 1, "a process of the bench is still running");
    }
    let interfaces = fs::read_to_string("/proc/net/dev").expect("/proc is mounted");
    let mut names = interfaces.lines().filter_map(|l| l.split_once(':'));
    assert!(names.all(|(name, _)| !["client", "server"].contains(&name.trim())));
}

#[test]
fn refusal_names_the_sysctl() {
    // Root of a user namespace may lower its limit to 0; then a process without capabilities tries.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \"$0\" facts";
    let tried = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script])
        .arg(common::peer())
        .output();
    let error = match &tried {
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    if error.contains("max_user_namespaces is 0") {
        assert!(
            error.contains("sysctl user.max_user_namespaces=10000"),
            "{error}"
        );
    } else {
        let able = Command::new("unshare")
            .args(["-Ur", "setpriv", "true"])
            .status();
        assert!(!able.is_ok_and(|s| s.success()), "{error}");
        testing::skip(&format!("unshare or setpriv does not work: {error}"));
    }
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
