//! How much memory there is.

use std::fs;
use std::path::Path;

/// Where a kind of cgroup is mounted, the prefix of its line in `/proc/self/cgroup`, and its files with the limit and
/// what is in use.
const CGROUPS: [[&str; 4]; 3] = [
    ["/sys/fs/cgroup", "0::", "memory.max", "memory.current"],
    [
        "/sys/fs/cgroup/unified",
        "0::",
        "memory.max",
        "memory.current",
    ],
    [
        "/sys/fs/cgroup/memory",
        ":memory:",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
    ],
];

/// Returns how much memory this process and its children may still take: what the machine has, or less in a cgroup.
pub(crate) fn available_bytes() -> u64 {
    let cgroups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let left = CGROUPS.iter().flat_map(|[mount, prefix, limit, usage]| {
        let own = cgroups.lines().find_map(|line| line.split_once(prefix));
        let own = own.map_or("", |(_, path)| path.trim_start_matches('/'));
        let groups = Path::new(own)
            .ancestors()
            .map(|group| Path::new(mount).join(group));
        groups.filter_map(|group| {
            let number = |name: &str| -> Option<u64> {
                fs::read_to_string(group.join(name))
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            };
            // The limit is `max` where there is none.
            Some(number(limit)?.saturating_sub(number(usage)?))
        })
    });
    left.chain([of_machine()]).min().unwrap()
}

fn of_machine() -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.unwrap().trim().parse::<u64>().unwrap() << 10
}
