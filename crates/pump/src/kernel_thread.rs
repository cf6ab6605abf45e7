//! The kernel thread of an endpoint's interface (threaded NAPI), seen from the host: kernel
//! threads live in the first PID namespace only, so the inside of a bench cannot see them.

use std::fs;

/// CPU time of a kernel thread; `None` when this process cannot see it, as in a container.
pub(crate) fn cpu_ns(tid: i32) -> Option<u64> {
    let name = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
    // In a PID namespace of our own the number would be somebody else's.
    if !name.starts_with("napi/") {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}
