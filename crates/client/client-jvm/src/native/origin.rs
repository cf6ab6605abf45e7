//! Origins by host and port.

/// Returns the origin of `https` with this host and port.
pub(super) fn origin(host: &str, port: u16) -> String {
    let host = match host.contains(':') {
        true => format!("[{}]", host.trim_matches(['[', ']'])),
        false => host.to_owned(),
    };
    match port {
        443 => format!("https://{host}"),
        _ => format!("https://{host}:{port}"),
    }
}
