//! Benches come and go: side by side, and whatever ends their owner.

mod common;

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pump::{Bench, Side};

use common::prober::{Probes, probe};

#[test]
fn two_benches_at_once_do_not_meet() {
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
    assert!(
        probe(&mut a, &probes)
            .unwrap()
            .iter()
            .all(|p| p.received_ns.is_some())
    );
    assert_eq!(a.end_window().unwrap().up.sent.total().packets, 50);
    assert_eq!(b.end_window().unwrap().up.sent.total().packets, 0);
    drop(a);
    // One's end is not the other's.
    assert_eq!(probe(&mut b, &probes).unwrap().len(), 50);
}

#[test]
fn nothing_is_left_of_a_dropped_bench() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let tag = format!("9{}", std::process::id());
    let held = hold_sleepers(&mut bench, &tag);
    drop(held);
    drop(bench);
    gone(&tag);
}

/// Not a test of its own: the owner that the next test kills.
#[test]
#[ignore = "run by a_killed_owner_leaves_nothing"]
fn owner() {
    let Some(mut bench) = common::bench() else {
        println!("OWNER NOT RUN");
        return;
    };
    let tag = std::env::var("TAG").unwrap();
    let _held = hold_sleepers(&mut bench, &tag);
    println!("OWNER READY");
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_killed_owner_leaves_nothing() {
    let tag = format!("8{}", std::process::id());
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "owner"])
        .env("TAG", &tag)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(owner.stdout.take().unwrap());
    let said = std::io::BufRead::lines(output)
        .map_while(Result::ok)
        .find(|line| line.contains("OWNER "))
        .expect("the owner says how it went");
    if said.contains("OWNER READY") {
        assert!(
            !running(&tag).is_empty(),
            "the sleepers are there to be ended"
        );
        owner.kill().unwrap();
    }
    owner.wait().unwrap();
    gone(&tag);
}

/// Runs a program at each end whose command line holds the tag.
fn hold_sleepers(bench: &mut Bench, tag: &str) -> Vec<impl Sized> {
    Side::BOTH
        .into_iter()
        .map(|side| {
            let command = format!("echo up; exec sleep {tag}");
            let (process, mut output) =
                common::spawn(bench, side, "/bin/sh".into(), &["-c", &command]);
            common::expect_line(&mut output, "up");
            (process, output)
        })
        .collect()
}

/// Processes of the machine whose command line holds the tag, and insides of benches that are
/// children of nobody.
fn running(tag: &str) -> Vec<String> {
    fs::read_dir("/proc")
        .expect("/proc is there")
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().into_string().ok()?;
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(tag).then_some(pid)
        })
        .collect()
}

/// Asserts that the tagged processes and the interfaces of their bench end. The kernel takes
/// namespaces apart a moment after their last process, so this looks more than once.
fn gone(tag: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    while !running(tag).is_empty() {
        assert!(Instant::now() < until, "still there: {:?}", running(tag));
        std::thread::sleep(Duration::from_millis(20));
    }
    let interfaces = fs::read_to_string("/proc/net/dev").expect("/proc is there");
    let names: Vec<_> = interfaces
        .lines()
        .filter_map(|l| l.split_once(':'))
        .collect();
    assert!(
        names
            .iter()
            .all(|(name, _)| !["client", "server"].contains(&name.trim()))
    );
}

#[test]
fn a_refusal_names_the_setting_that_refuses() {
    // A user namespace of its own, whose limit this may lower; then no capability in it.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \"$0\" try";
    let tried = Command::new("unshare")
        .args(["-Ur", "sh", "-c", script])
        .arg(common::peer())
        .output();
    let said = match &tried {
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    if said.contains("max_user_namespaces is 0") {
        assert!(
            said.contains("sysctl user.max_user_namespaces=10000"),
            "{said}"
        );
    } else {
        // Only where user namespaces or util-linux are missing is there nothing to test.
        let able = Command::new("unshare")
            .args(["-Ur", "setpriv", "true"])
            .status();
        assert!(!able.is_ok_and(|s| s.success()), "{said}");
        testing::skip(&format!("unshare or setpriv is missing: {said}"));
    }
}

#[test]
fn again_without_privileges() {
    common::again_without_privileges();
}
