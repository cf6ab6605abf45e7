//! A panic poisons its engine, and nothing else.

use std::ptr::null_mut;
use std::sync::Arc;

use super::*;
use crate::abi::{cm_bytes, cm_config, cm_engine, cm_status};
use crate::call::Call;
use crate::engine::RunningCall;
use crate::engines::enter;
use crate::next_id;

#[test]
fn a_panic_poisons_its_engine_and_no_other() {
    let (broken, sound) = (engine(), engine());
    let waiter = std::thread::spawn(move || wait(broken, -1));
    let panicked = enter(broken, |_| panic!("on purpose"));
    assert_eq!(panicked, cm_status::CM_E_PANIC);
    assert_eq!(waiter.join().expect("it returned"), cm_status::CM_E_PANIC);
    assert_eq!(cm_finish(broken, 1), cm_status::CM_E_PANIC);
    assert_eq!(cm_finish(sound, 1), cm_status::CM_E_NO_CALL);
    assert_eq!(cm_engine_close(broken), cm_status::CM_OK);
    assert_eq!(cm_engine_close(broken), cm_status::CM_E_CLOSED);
    assert_eq!(cm_engine_close(sound), cm_status::CM_OK);
}

#[test]
fn a_panic_on_the_engines_thread_poisons_it() {
    let id = engine();
    enter(id, |engine| {
        let call = Call::new(next_id(), 0, false, Arc::clone(&engine.queue));
        let engine_of_call = Arc::clone(engine);
        let running = RunningCall {
            engine: engine_of_call,
            call,
        };
        engine.client()?.spawn(async move {
            let _running = running;
            panic!("on purpose");
        });
        Ok(cm_status::CM_OK)
    });
    assert_eq!(wait(id, 60_000), cm_status::CM_E_PANIC);
    assert_eq!(cm_engine_close(id), cm_status::CM_OK);
}

fn engine() -> cm_engine {
    let nothing = cm_bytes {
        ptr: null_mut(),
        len: 0,
    };
    let config = cm_config {
        policy: 0,
        trust: 0,
        roots_pem: nothing,
        identity_chain_pem: nothing,
        identity_key_pem: nothing,
        memory_folder: nothing,
        h3_hints: null_mut(),
        h3_hint_count: 0,
        addresses: null_mut(),
        address_count: 0,
        early_data: 0,
        check_chain_ms: 0,
    };
    let mut engine = 0;
    // SAFETY: both point to what the header says.
    let made = unsafe { cm_engine_new(&config, &mut engine, null_mut(), 0, null_mut()) };
    assert_eq!(made, cm_status::CM_OK);
    engine
}

fn wait(engine: cm_engine, wait_ms: i32) -> cm_status {
    let (mut event, mut count) = (std::mem::MaybeUninit::uninit(), 0);
    // SAFETY: there is room for one event.
    unsafe { cm_wait(engine, event.as_mut_ptr(), 1, wait_ms, &mut count) }
}
