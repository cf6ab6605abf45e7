//! The origin of a page: where and when it is made.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use page::Origin;

/// Returns this version, now, on this machine.
pub(crate) fn now() -> Origin {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Origin {
        commute: env!("CARGO_PKG_VERSION").to_owned(),
        unix_ns: since.map_or(0, |since| since.as_nanos() as u64),
        machine: report::machine(&lab::host_facts(Path::new("."))),
    }
}
