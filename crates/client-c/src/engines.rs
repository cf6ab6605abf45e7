//! The engines of this process, by their ids.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use crate::abi::{cm_engine, cm_status};
use crate::engine::Engine;
use crate::next_id;

static ENGINES: RwLock<BTreeMap<cm_engine, Arc<Engine>>> = RwLock::new(BTreeMap::new());

/// Keeps an engine and returns its id.
pub(crate) fn add(engine: Engine) -> cm_engine {
    let id = next_id();
    change(|engines| engines.insert(id, Arc::new(engine)));
    id
}

pub(crate) fn remove(id: cm_engine) -> Option<Arc<Engine>> {
    change(|engines| engines.remove(&id))
}

/// Runs a function on an engine. A panic poisons it.
pub(crate) fn enter(
    id: cm_engine,
    run: impl FnOnce(&Arc<Engine>) -> Result<cm_status, cm_status>,
) -> cm_status {
    let engines = ENGINES.read().unwrap_or_else(PoisonError::into_inner);
    let found = engines.get(&id).cloned();
    drop(engines);
    let Some(engine) = found else {
        return cm_status::CM_E_CLOSED;
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

fn change<T>(change: impl FnOnce(&mut BTreeMap<cm_engine, Arc<Engine>>) -> T) -> T {
    change(&mut ENGINES.write().unwrap_or_else(PoisonError::into_inner))
}
