//! Keeps windows clear of the teardown of this process's other benches: the kernel removes their
//! namespaces, interfaces and rings after they have ended, and delays packets of others meanwhile.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a teardown takes at most. The kernel does not report its end; of windows that began
/// this much later, none was disturbed.
const DURATION: Duration = Duration::from_millis(1500);

static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Records that a teardown has begun.
pub(crate) fn begun() {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Waits until no teardown is under way.
pub(crate) fn wait() {
    while let Some(rest) = rest() {
        thread::sleep(rest);
    }
}

fn rest() -> Option<Duration> {
    let begun = (*LAST.lock().unwrap_or_else(PoisonError::into_inner))?;
    DURATION
        .checked_sub(begun.elapsed())
        .filter(|rest| !rest.is_zero())
}
