//! The functions for events, and for the chains that events ask the app to check.

use std::time::Duration;

use crate::abi::{cm_engine, cm_event, cm_status};
use crate::engines::enter;
use crate::entry::copy_out::copy_out;

/// Waits for events, up to `cap`, until there is one or `wait_ms` have passed (then `CM_AGAIN`);
/// -1: for ever.
///
/// # Safety
///
/// `into` points to room for `cap` events, `count` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_wait(
    engine: cm_engine,
    into: *mut cm_event,
    cap: usize,
    wait_ms: i32,
    count: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        let misplaced = into.is_null() || !into.is_aligned() || count.is_null();
        if misplaced || cap == 0 {
            return Err(cm_status::CM_E_ARGUMENT);
        }
        // SAFETY: not null, and as the caller promises.
        unsafe { count.write(0) };
        let wait = u64::try_from(wait_ms).ok().map(Duration::from_millis);
        let events = engine.queue.wait(cap, wait)?;
        engine.chains.take(&events);
        // SAFETY: room for `cap` events, as the caller promises, and there are no more.
        unsafe {
            into.copy_from_nonoverlapping(events.as_ptr(), events.len());
            count.write(events.len());
        }
        Ok(if events.is_empty() {
            cm_status::CM_AGAIN
        } else {
            cm_status::CM_OK
        })
    })
}

/// Copies a part of the chain that `CM_EVENT_CHECK_CHAIN` named: 0 is the host name, 1 the server's certificate as DER.
/// The parts from 2 on are the certificates that it sent with that one. `CM_END`: there is no such part.
/// `CM_E_NO_CALL`: the chain no longer waits.
///
/// # Safety
///
/// `into` points to `cap` bytes, `len` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_get_chain(
    engine: cm_engine,
    number: u64,
    part: usize,
    into: *mut u8,
    cap: usize,
    len: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        let part = engine.chains.part(number, part)?;
        // SAFETY: as the caller promises.
        Ok(unsafe { copy_out(&part, into, cap, len) })
    })
}

/// Accepts a chain (1) or refuses it (0). `CM_E_NO_CALL`: it no longer waits.
#[unsafe(no_mangle)]
pub extern "C" fn cm_answer_chain(engine: cm_engine, number: u64, accepted: u32) -> cm_status {
    enter(engine, |engine| match accepted {
        0 | 1 => Ok(engine.chains.answer(number, accepted == 1)),
        _ => Err(cm_status::CM_E_ARGUMENT),
    })
}
