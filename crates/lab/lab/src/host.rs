//! Describes this host for the record, without machine names.

use std::fs;
use std::path::Path;
use std::process::Command;

use record::{Host, Machine};

/// Reads the host's facts, and leaves empty what cannot be read.
pub fn facts(home: &Path) -> Host {
    let flags = cpuinfo("flags").unwrap_or_default();
    let virtualised = flags.split(' ').any(|flag| flag == "hypervisor");
    let Machine {
        boot,
        kernel,
        cpu,
        cores,
    } = machine();
    Host {
        boot,
        kernel,
        cpu,
        cores,
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        git: git(home),
        hypervisor: virtualised.then(|| "virtual machine".to_owned()),
        ..Host::default()
    }
}

/// Reads what tells this machine from others, as every cell records it.
pub(crate) fn machine() -> Machine {
    Machine {
        boot: read("/proc/sys/kernel/random/boot_id"),
        kernel: read("/proc/sys/kernel/osrelease"),
        cpu: cpuinfo("model name").unwrap_or_default(),
        cores: cores(),
    }
}

/// Returns a field of the first processor.
fn cpuinfo(name: &str) -> Option<String> {
    let all = read("/proc/cpuinfo");
    let mut lines = all.lines();
    let value = lines.find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

/// Returns the number of cores available; 0 if it cannot be read.
pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(0, |n| n.get() as u32)
}

fn read(path: &str) -> String {
    fs::read_to_string(path)
        .map(|s| s.trim().to_owned())
        .unwrap_or_default()
}

fn memory_bytes(meminfo: &str) -> u64 {
    let kib = meminfo.lines().find_map(|l| {
        l.strip_prefix("MemTotal:")?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}

fn git(home: &Path) -> Option<String> {
    // Another repository may lie around a home that is not a checkout.
    if !home.join(".git").exists() {
        return None;
    }
    let out = Command::new("git")
        .arg("-C")
        .arg(home)
        .args(["rev-parse", "HEAD"])
        .output()
        .ok()?;
    let commit = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && commit.len() == 40).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_cores_memory_and_kernel() {
        let host = facts(Path::new("/"));
        assert!(host.cores > 0 && host.memory_bytes > 0 && !host.kernel.is_empty());
    }

    #[test]
    fn converts_memory_to_bytes() {
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:       2 kB\n"), 2048);
        assert_eq!(memory_bytes("nonsense"), 0);
    }
}
