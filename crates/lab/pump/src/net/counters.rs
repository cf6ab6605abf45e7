//! Values that only the kernel has: counts of dropped packets, and open ports.

use std::fs;
use std::io;

/// States in `/proc/net/tcp` and `/proc/net/udp` (include/net/tcp_states.h).
const TCP_LISTEN: &str = "0A";
const UDP_UNCONNECTED: &str = "07";

/// Returns the packets that the sockets of the calling thread's namespace had no room for, since its
/// creation.
pub(crate) fn receive_drops() -> io::Result<u64> {
    let snmp = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let netstat = fs::read_to_string("/proc/thread-self/net/netstat")?;
    let snmp6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    let tables = |text: &str, rows: &[(&str, &str)]| -> u64 {
        rows.iter()
            .map(|(table, column)| in_table(text, table, column).unwrap_or(0))
            .sum()
    };
    Ok(tables(&snmp, &[("Udp:", "RcvbufErrors")])
        + tables(
            &netstat,
            &[
                ("TcpExt:", "TCPBacklogDrop"),
                ("TcpExt:", "TCPRcvQDrop"),
                ("TcpExt:", "RcvPruned"),
            ],
        )
        + snmp6
            .lines()
            .filter_map(|line| line.strip_prefix("Udp6RcvbufErrors"))
            .filter_map(|value| value.trim().parse::<u64>().ok())
            .sum::<u64>())
}

/// Returns the packets dropped by the kernel's per-CPU backlogs, on the whole machine.
pub(crate) fn softnet_drops() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/net/softnet_stat")?;
    Ok(text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter_map(|field| u64::from_str_radix(field, 16).ok())
        .sum())
}

/// Returns the number of TCP sockets that listen and UDP sockets that are bound in the calling
/// thread's namespace.
pub(crate) fn open_ports() -> io::Result<usize> {
    let mut open = 0;
    for (table, state) in [
        ("tcp", TCP_LISTEN),
        ("tcp6", TCP_LISTEN),
        ("udp", UDP_UNCONNECTED),
        ("udp6", UDP_UNCONNECTED),
    ] {
        let text = match fs::read_to_string(format!("/proc/thread-self/net/{table}")) {
            // A kernel without IPv6.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        // Slot, local address, remote address, state.
        let states = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(3));
        open += states.filter(|s| *s == state).count();
    }
    Ok(open)
}

/// Reads a value of `snmp` or `netstat`: a line of names, then a line of values, both prefixed by
/// the table's name.
fn in_table(text: &str, table: &str, column: &str) -> Option<u64> {
    let mut lines = text
        .lines()
        .filter(|line| line.split_whitespace().next() == Some(table));
    let (names, values) = (lines.next()?, lines.next()?);
    let index = names.split_whitespace().position(|name| name == column)?;
    values.split_whitespace().nth(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_found_by_column_name() {
        let text = "Ip: A B\nIp: 1 2\nUdp: In RcvbufErrors Out\nUdp: 7 8 9\n";
        assert_eq!(in_table(text, "Udp:", "RcvbufErrors"), Some(8));
        assert_eq!(in_table(text, "Ip:", "B"), Some(2));
        assert_eq!(in_table(text, "Udp:", "B"), None);
        assert_eq!(in_table(text, "Tcp:", "A"), None);
    }

    #[test]
    fn open_ports_are_counted() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(open_ports().unwrap() >= 2);
        drop((tcp, udp));
    }

    #[test]
    fn counters_of_this_machine_are_readable() {
        receive_drops().expect("these files exist on every Linux with networking");
        softnet_drops().expect("this file exists on every Linux with networking");
    }
}
