//! Settings that every bench writes into both endpoint namespaces and reads back.

use std::fs;
use std::io;

/// Path below `/proc/sys/net` and value. The TCP buffers are the kernel's defaults on a
/// machine with 4 GB or more (tcp(7)), written because the defaults depend on memory.
pub(crate) const ENDPOINT: &[(&str, &str)] = &[
    ("ipv4/tcp_rmem", "4096 131072 6291456"),
    ("ipv4/tcp_wmem", "4096 16384 4194304"),
    // One cell must not hand its RTT and threshold to the next.
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_fastopen", "0"),
    ("ipv4/tcp_slow_start_after_idle", "1"),
    // Commands run without capabilities, and servers want their usual ports.
    ("ipv4/ip_unprivileged_port_start", "0"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    // Nothing on the wire that the stacks under test did not send.
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/conf/default/autoconf", "0"),
    ("ipv6/conf/default/router_solicitations", "0"),
    // No link-local address: its group would be reported on the wire.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// The link's own namespace only passes frames on: it has no IPv6 of its own.
pub(crate) const LINK: &[(&str, &str)] = &[
    ("ipv6/conf/all/disable_ipv6", "1"),
    ("ipv6/conf/default/disable_ipv6", "1"),
];

/// Writes a table into the calling thread's namespace and makes sure that it holds.
pub(crate) fn write(table: &[(&str, &str)]) -> io::Result<()> {
    for (name, value) in table {
        let path = format!("/proc/sys/net/{name}");
        let failed = |e: io::Error| io::Error::new(e.kind(), format!("{path} = {value}: {e}"));
        fs::write(&path, value).map_err(failed)?;
        let got = fs::read_to_string(&path).map_err(failed)?;
        if !got.split_whitespace().eq(value.split_whitespace()) {
            return Err(failed(io::Error::other(format!(
                "reads back as {}",
                got.trim()
            ))));
        }
    }
    Ok(())
}

/// The congestion controls an endpoint may be given.
pub(crate) fn congestion_controls() -> io::Result<Vec<String>> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}
