//! Doctor must fail when the lab is broken on purpose, and say what is wrong.

use std::process::{Command, Output};
use std::sync::Mutex;

/// One examination at a time: they measure.
static ONE: Mutex<()> = Mutex::new(());

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_commute"))
        .arg("doctor")
        .args(args)
        .output()
        .expect("commute starts")
}

/// Lines of failed checks; panics when the exit code contradicts them.
fn failures(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let failed: Vec<String> = text
        .lines()
        .filter(|l| l.starts_with("FAIL"))
        .map(str::to_owned)
        .collect();
    let expected = if failed.is_empty() { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(expected), "{text}\n{errors}");
    failed
}

#[track_caller]
fn must_say(broken: &str, part: &str, what: &str) {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let failed = failures(&doctor(&["--break", broken, "--only", part]));
    assert!(
        failed.iter().any(|l| l.contains(what)),
        "no {what:?} among {failed:#?}"
    );
}

#[test]
fn a_healthy_lab_passes() {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(failures(&doctor(&[])), [""; 0]);
}

#[test]
fn segmentation_offload_left_on() {
    must_say("gso", "accounting", "frames above the MTU");
}

#[test]
fn one_per_cent_more_delay() {
    must_say("delay", "probes", "one-way delay");
}

#[test]
fn another_congestion_control() {
    must_say("bbr", "round-trips", "connections not under cubic");
}

#[test]
fn nagle_left_on() {
    must_say("nagle", "round-trips", "first byte");
}

#[test]
fn one_lost_syn() {
    must_say("syn", "round-trips", "dropped by the link or sent again");
}

#[test]
fn a_link_starved_of_cpu() {
    let _one = ONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(hogs) = Hogs::start() else {
        eprintln!("SKIPPED: a_link_starved_of_cpu needs SCHED_FIFO (run as root)");
        return;
    };
    let failed = failures(&doctor(&["--only", "probes"]));
    drop(hogs);
    assert!(
        failed.iter().any(|l| l.contains("one-way delay")),
        "{failed:#?}"
    );
}

/// Threads above the link's priority, busy half of the time on every core.
struct Hogs {
    stop: std::sync::Arc<std::sync::atomic::AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Hogs {
    fn start() -> Option<Hogs> {
        use std::sync::atomic::{AtomicBool, Ordering};
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let (told, ready) = std::sync::mpsc::channel();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = (0..cores)
            .map(|_| {
                let (stop, told) = (std::sync::Arc::clone(&stop), told.clone());
                std::thread::spawn(move || {
                    let raised = raise_priority();
                    told.send(raised).expect("the test waits");
                    while raised && !stop.load(Ordering::Relaxed) {
                        let begun = std::time::Instant::now();
                        while begun.elapsed() < BURST {}
                        std::thread::sleep(BURST);
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
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a hog never panics");
        }
    }
}

fn raise_priority() -> bool {
    let param = libc::sched_param { sched_priority: 60 };
    // SAFETY: `param` outlives the call, which changes only the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) == 0 }
}

/// Longer than any margin of doctor's.
const BURST: std::time::Duration = std::time::Duration::from_millis(15);
