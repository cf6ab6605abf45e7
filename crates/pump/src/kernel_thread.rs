//! The kernel threads of the endpoints' interfaces (threaded NAPI), seen from the host: kernel
//! threads live in the first PID namespace only, so the inside of a bench cannot see them.

use std::fs;

use crate::sys;

/// The ids of kernel threads with these names; `None` when there are none or one cannot be
/// seen, as in a container.
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

/// Puts kernel threads above ordinary ones, where the caller may: a network card's interrupt
/// would not wait for a core behind the programs under test either.
pub(crate) fn make_realtime(tids: &[i32]) -> bool {
    tids.iter().all(|tid| {
        sys::make_realtime(*tid, PRIORITY)
            .and_then(|()| sys::keep_to_last_core(*tid))
            .is_ok()
    })
}

/// CPU time of kernel threads together.
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

/// Above the link's threads: as an interrupt would, what arrives goes first. Measured against 9,
/// below them: probes took 26 instead of 34 us beyond the delay (median; p99 89 instead of 121).
const PRIORITY: i32 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_threads_by_name_all_or_none() {
        let own = std::process::id() as i32;
        let own_name = name(own).unwrap();
        assert!(find(std::slice::from_ref(&own_name)).is_some());
        assert_eq!(find(&[own_name, "napi/no-such-0".into()]), None);
        assert_eq!(find(&[]), None);
        assert!(cpu_ns(&[own]).unwrap() > 0);
        assert_eq!(cpu_ns(&[0]), None);
    }
}
