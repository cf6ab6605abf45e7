//! Facts about this machine: what it allows, and what earlier runs left behind.

use std::fs;

use pump::Facts;
use record::Host;

/// One fact about the machine, with advice when it limits the lab.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// A label, e.g. `kernel`.
    pub name: String,
    /// The value, in words.
    pub value: String,
    /// What to do about it; none when nothing needs doing.
    pub advice: Option<String>,
}

/// Returns the facts that matter to a lab.
pub fn machine(host: &Host, bench: Option<&Facts>) -> Vec<Fact> {
    let fact = |name: &str, value: String, advice: Option<&str>| Fact {
        name: name.to_owned(),
        value,
        advice: advice.map(str::to_owned),
    };
    let mut facts = vec![
        fact("kernel", host.kernel.clone(), None),
        fact(
            "processor",
            format!("{}, {} cores", host.cpu, host.cores),
            (host.cores < 2)
                .then_some("driver and link compete for the only core; use at least two"),
        ),
        fact(
            "clock",
            host.clocksource.clone(),
            (!matches!(
                host.clocksource.as_str(),
                "tsc" | "arch_sys_counter" | "kvm-clock"
            ))
            .then_some("this clock is slow to read; boot with a faster clock source"),
        ),
    ];
    if let Some(bench) = bench {
        let privileges = if bench.rootless {
            "user namespace (rootless)"
        } else {
            "root"
        };
        facts.push(fact("privileges", privileges.to_owned(), None));
        let realtime = if bench.realtime {
            "SCHED_FIFO"
        } else {
            "ordinary priority"
        };
        facts.push(fact(
            "link's threads",
            realtime.to_owned(),
            (!bench.realtime).then_some(
                "packets leave milliseconds late when the machine is busy; grant rtprio \
                 (limits.conf) or run as root",
            ),
        ));
        let seen = bench.kernel_threads.iter().all(|t| !t.is_empty());
        facts.push(fact(
            "kernel threads of the interfaces",
            if seen { "visible" } else { "not visible" }.to_owned(),
            (!seen).then_some("the kernel's share of TCP's CPU time is missing from every cell"),
        ));
    }
    let leftovers = leftovers();
    facts.push(fact(
        "leftovers",
        if leftovers.is_empty() {
            "none".to_owned()
        } else {
            leftovers.join(", ")
        },
        (!leftovers.is_empty()).then_some("benches whose owner has gone; end these processes"),
    ));
    facts
}

/// Returns the inits of benches whose owner has gone.
fn leftovers() -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|s| s.parse::<u32>().ok()) else {
            continue;
        };
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_bench = command.split(|b| *b == 0).nth(1) == Some(b"bench-init");
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The second field is in parentheses and may hold spaces; the parent is the fourth.
        let parent = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.split(' ').nth(1));
        if is_bench && parent == Some("1") {
            found.push(format!("process {pid}"));
        }
    }
    found
}
