//! The sysctls of a bench's namespaces.

use std::fs;
use std::io;

/// Sysctls of both endpoints: path below `/proc/sys/net` and value. The TCP buffers are the
/// kernel's defaults on a machine with 4 GB or more (tcp(7)), written because the defaults depend
/// on memory.
pub(crate) const ENDPOINT: &[(&str, &str)] = &[
    ("ipv4/tcp_rmem", "4096 131072 6291456"),
    ("ipv4/tcp_wmem", "4096 16384 4194304"),
    // A cell must not inherit the RTT and threshold of the previous one.
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_fastopen", "0"),
    ("ipv4/tcp_slow_start_after_idle", "1"),
    // Programs run without capabilities, and servers need their usual ports.
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    // No packets on the link but those of the stacks under test.
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/autoconf", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    // No link-local address: its multicast group would be reported on the link.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// Sysctls of the link's namespace, which only forwards frames.
pub(crate) const LINK: &[(&str, &str)] = &[
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
];

/// Writes sysctls of the calling thread's namespace and checks that they read back the same.
pub(crate) fn write(table: &[(&str, &str)]) -> io::Result<()> {
    for (name, value) in table {
        let path = format!("/proc/sys/net/{name}");
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("{path} = {value}: {e}"));
        fs::write(&path, value).map_err(failed)?;
        let actual = fs::read_to_string(&path).map_err(failed)?;
        if !actual.split_whitespace().eq(value.split_whitespace()) {
            return Err(failed(io::Error::other(format!(
                "reads back as {}",
                actual.trim()
            ))));
        }
    }
    Ok(())
}

/// Returns the congestion controls of this kernel.
pub(crate) fn congestion_controls() -> io::Result<Vec<String>> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
