//! Drops that only the kernel counts.

use std::fs;
use std::io;

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
    fn counters_of_this_machine_are_readable() {
        receive_drops().expect("these files exist on every Linux with networking");
        softnet_drops().expect("this file exists on every Linux with networking");
    }
}
