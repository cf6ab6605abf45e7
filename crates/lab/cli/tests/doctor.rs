//! `commute doctor` passes on a healthy lab, and detects every injected fault.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{CommandOutput, Sandbox, repository};

/// How long the link is kept from running; more than any margin of doctor's probes.
const BURST: Duration = Duration::from_millis(15);

/// Runs doctor, and returns the lines of failed checks.
fn failures(args: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let mut command = sandbox.commute(&[&["doctor"], args].concat());
    command.env("COMMUTE_HOME", repository());
    let output = CommandOutput::of(command);
    let failed = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("FAIL"));
    let failed: Vec<String> = failed.map(str::to_owned).collect();
    output.exits_with(if failed.is_empty() { 0 } else { 3 });
    failed
}

#[track_caller]
fn assert_detects(fault: &str, part: &str, failed_check: &str) {
    let failed = failures(&["--break", fault, "--only", part]);
    assert!(
        failed.iter().any(|line| line.contains(failed_check)),
        "no {failed_check:?} among {failed:#?}"
    );
}

#[test]
fn healthy_lab_passes() {
    assert_eq!(failures(&[]), [""; 0]);
}

#[test]
fn detects_segmentation_offload() {
    assert_detects("gso", "accounting", "frames above the MTU");
}

#[test]
fn detects_one_percent_more_delay() {
    assert_detects("delay", "probes", "one-way delay");
}

#[test]
fn detects_another_congestion_control() {
    assert_detects("bbr", "round-trips", "connections not under cubic");
}

#[test]
fn detects_nagles_algorithm() {
    assert_detects("nagle", "round-trips", "first byte");
}

#[test]
fn detects_a_wait_that_no_cause_is_known_for() {
    assert_detects("nagle", "causes", "waits for nothing else");
}

#[test]
fn detects_a_lost_syn() {
    assert_detects("syn", "round-trips", "packets dropped or retransmitted");
}

#[test]
fn detects_stray_packets_that_take_the_losses_of_others() {
    assert_detects("stray", "losses", "lost in one of two equal cells only");
}

#[test]
fn detects_a_radio_that_never_sleeps() {
    assert_detects(
        "radio",
        "radio",
        "3g-umts down: one-way delay, a ping every 17 s",
    );
}

#[test]
fn detects_a_link_starved_of_cpu_time() {
    let Some(hogs) = Hogs::start() else {
        return testing::skip("real-time priority is not allowed; run as root");
    };
    let failed = failures(&["--only", "probes"]);
    drop(hogs);
    assert!(
        failed.iter().any(|line| line.contains("one-way delay")),
        "{failed:#?}"
    );
}

/// One thread per core with a higher priority than the link's, busy half of the time; all at once, else the link
/// would run on the core that is idle.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start() -> Option<Hogs> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, ready) = mpsc::channel();
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let started = Instant::now();
        let threads = (0..cores)
            .map(|core| {
                let (stop, sender) = (Arc::clone(&stop), sender.clone());
                std::thread::spawn(move || {
                    let raised = stay_on(core) && raise_priority();
                    sender.send(raised).unwrap();
                    while raised && !stop.load(Ordering::Relaxed) {
                        let bursts = started.elapsed().div_duration_f64(BURST);
                        let rest = BURST.mul_f64(1.0 - bursts.fract());
                        let is_busy = bursts % 2.0 < 1.0;
                        let until = Instant::now() + rest;
                        while is_busy && Instant::now() < until {}
                        std::thread::sleep(until.saturating_duration_since(Instant::now()));
                    }
                })
            })
            .collect();
        let hogs = Hogs { stop, threads };
        let raised = (0..cores).all(|_| ready.recv().unwrap_or(false));
        raised.then_some(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn stay_on(core: usize) -> bool {
    // SAFETY: all zeros is the empty set, `core` is checked by `CPU_SET`, and `set` outlives the call, which changes
    // only the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

fn raise_priority() -> bool {
    let param = libc::sched_param { sched_priority: 60 };
    // SAFETY: `param` outlives the call, which changes only the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) == 0 }
}
