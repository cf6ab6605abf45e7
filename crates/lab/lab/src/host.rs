//! Describes this host for the record, without machine names.

use std::fs;
use std::path::Path;
use std::process::Command;

use record::Host;

/// Reads the host's facts, and leaves empty what cannot be read.
pub fn facts(home: &Path) -> Host {
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        cpuinfo
            .lines()
            .find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix(':'))
            .map(|v| v.trim().to_owned())
    };
    let virtualised =
        field("flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor"));
    Host {
        kernel: read("/proc/sys/kernel/osrelease"),
        cpu: field("model name").unwrap_or_default(),
        cores: cores(),
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        boot: read("/proc/sys/kernel/random/boot_id"),
        git: git(home),
        hypervisor: virtualised.then(|| "virtual machine".to_owned()),
        ..Host::default()
    }
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
