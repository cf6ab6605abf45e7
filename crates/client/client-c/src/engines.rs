//! The engines of this process, by their ids.
//!
//! A child process of fork(2) inherits the map but not the engines' threads, and other threads may hold the map's locks
//! forever. So it gets a map of its own, and the inherited one is never touched again. Nothing in it is dropped: no
//! connection of the parent process is closed, and none of its event sources is unregistered.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::{cm_engine, cm_status};
use crate::engine::Engine;
use crate::next_id;

/// The map of the process that used it last, which may be the parent process. Never freed.
static ENGINES: AtomicPtr<Engines> = AtomicPtr::new(null_mut());

struct Engines {
    pid: u32,
    /// Smaller ids were given away before the fork; 0 in a process that inherited no map.
    first_id: u64,
    by_id: RwLock<BTreeMap<cm_engine, Arc<Engine>>>,
}

/// Keeps an engine and returns its id.
pub(crate) fn add(engine: Engine) -> cm_engine {
    let engines = engines();
    let id = next_id();
    engines.change(|by_id| by_id.insert(id, Arc::new(engine)));
    id
}

pub(crate) fn remove(id: cm_engine) -> Result<Arc<Engine>, cm_status> {
    let engines = engines();
    let removed = engines.change(|by_id| by_id.remove(&id));
    removed.ok_or_else(|| engines.missing(id))
}

/// Runs a function on an engine. A panic poisons it.
pub(crate) fn enter(
    id: cm_engine,
    run: impl FnOnce(&Arc<Engine>) -> Result<cm_status, cm_status>,
) -> cm_status {
    let engines = engines();
    let by_id = engines.by_id.read().unwrap_or_else(PoisonError::into_inner);
    let found = by_id.get(&id).cloned();
    drop(by_id);
    let Some(engine) = found else {
        return engines.missing(id);
    };
    if engine.is_poisoned() {
        return cm_status::CM_E_PANIC;
    }
    match catch_unwind(AssertUnwindSafe(|| run(&engine))) {
        Ok(status) => status.unwrap_or_else(|status| status),
        Err(_) => {
            engine.poison();
            cm_status::CM_E_PANIC
        }
    }
}

impl Engines {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<cm_engine, Arc<Engine>>) -> T) -> T {
        change(&mut self.by_id.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns why there is no engine of this id.
    fn missing(&self, id: cm_engine) -> cm_status {
        if (1..self.first_id).contains(&id) {
            cm_status::CM_E_FORKED
        } else {
            cm_status::CM_E_CLOSED
        }
    }
}

/// Returns this process's map.
fn engines() -> &'static Engines {
    let pid = process::id();
    loop {
        let current = ENGINES.load(Ordering::Acquire);
        // SAFETY: null, or leaked below.
        let inherited = match unsafe { current.as_ref() } {
            Some(engines) if engines.pid == pid => return engines,
            inherited => inherited.is_some(),
        };
        let own = Box::into_raw(Box::new(Engines {
            pid,
            first_id: if inherited { next_id() } else { 0 },
            by_id: RwLock::default(),
        }));
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        if ENGINES
            .compare_exchange(current, own, success, failure)
            .is_err()
        {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}
