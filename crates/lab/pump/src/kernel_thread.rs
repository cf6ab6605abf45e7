//! The kernel threads of the endpoints' interfaces (threaded NAPI). Kernel threads exist in the
//! initial PID namespace only: the owner of a bench can see them, its init process cannot.

use std::fs;

use crate::sys;

/// Above the link's threads, as an interrupt would be. Measured against 9, below them: probes took
/// 26 us instead of 34 us beyond the delay (median; p99 89 us instead of 121 us).
const PRIORITY: i32 = 11;

/// Returns the ids of the kernel threads with these names; `None` when `names` is empty or a thread
/// cannot be seen, e.g. in a container.
pub(crate) fn find(names: &[String]) -> Option<Vec<i32>> {
    if names.is_empty() {
        return None;
    }
    let running: Vec<(i32, String)> = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|tid| Some((tid, name(tid)?)))
        .collect();
    names
        .iter()
        .map(|name| {
            running
                .iter()
                .find(|(_, running)| running == name)
                .map(|(tid, _)| *tid)
        })
        .collect()
}

/// Puts kernel threads into SCHED_FIFO and returns whether the caller may do that. A network card's
/// interrupt would not wait for a core behind the programs under test either.
pub(crate) fn make_realtime(tids: &[i32]) -> bool {
    tids.iter().all(|tid| {
        sys::make_realtime(*tid, PRIORITY)
            .and_then(|()| sys::pin_to_last_core(*tid))
            .is_ok()
    })
}

/// Returns the total CPU time of kernel threads.
pub(crate) fn cpu_ns(tids: &[i32]) -> Option<u64> {
    tids.iter()
        .map(|tid| {
            let text = fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        })
        .sum()
}

fn name(tid: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{tid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_all_threads_by_name_or_none() {
        let own = std::process::id() as i32;
        let own_name = name(own).unwrap();
        assert!(find(std::slice::from_ref(&own_name)).is_some());
        assert_eq!(find(&[own_name, "napi/no-such-0".into()]), None);
        assert_eq!(find(&[]), None);
        assert!(cpu_ns(&[own]).unwrap() > 0);
        assert_eq!(cpu_ns(&[0]), None);
    }
}
