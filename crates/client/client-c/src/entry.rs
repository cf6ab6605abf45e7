//! The functions of the C interface.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use client::{Arms, Switches, Trust};

use crate::abi::{
    cm_arms, cm_call, cm_config, cm_engine, cm_event, cm_network, cm_request, cm_status,
    cm_switches, cm_trust,
};
use crate::chains::PendingChains;
use crate::engine::Engine;
use crate::engines::{self, enter};
use crate::queue::EventQueue;
use crate::read;
use crate::signals::without_sigpipe;

/// The version of this interface. It changes with every function or struct that is added or changed.
pub const CM_ABI_VERSION: u32 = 3;

/// Returns the library's `CM_ABI_VERSION`. A binding compares it with its own before it calls anything else.
#[unsafe(no_mangle)]
pub extern "C" fn cm_abi_version() -> u32 {
    CM_ABI_VERSION
}

/// Makes an engine and starts its thread. If that fails, `error` gets up to `cap` bytes of the
/// reason in UTF-8, and `error_len` their number; both may be null.
///
/// # Safety
///
/// The pointers are null or point to as much as their types and lengths say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_engine_new(
    config: *const cm_config,
    out: *mut cm_engine,
    error: *mut u8,
    cap: usize,
    error_len: *mut usize,
) -> cm_status {
    let made = catch_unwind(|| {
        // SAFETY: as the caller promises.
        let config = unsafe { config.as_ref() }.filter(|_| !out.is_null());
        let config = config.ok_or((cm_status::CM_E_ARGUMENT, "null".to_owned()))?;
        // SAFETY: as the caller promises.
        unsafe { make(config) }
    });
    let made = made.unwrap_or_else(|_| Err((cm_status::CM_E_PANIC, "a bug: panic".to_owned())));
    match made {
        Ok(engine) => {
            // SAFETY: not null, and as the caller promises.
            unsafe { out.write(engines::add(engine)) };
            cm_status::CM_OK
        }
        Err((status, message)) => {
            // SAFETY: as the caller promises.
            unsafe {
                copy_out(
                    &message.as_bytes()[..message.len().min(cap)],
                    error,
                    cap,
                    error_len,
                )
            };
            status
        }
    }
}

/// Closes an engine: `cm_wait` returns `CM_E_CLOSED`, calls end, connections are closed, and what was learnt is saved.
/// Waits for the engine's thread, unless another thread already waits in `cm_disconnect` or `cm_save`. The engine's
/// calls need no `cm_release` any more.
///
/// After fork(2), the child process cannot use the engines of its parent: each function returns `CM_E_FORKED` at
/// once, this one, too, and sends nothing. The child may make engines of its own. Sockets of the parent's engines stay
/// open in the child until it ends or calls exec(3).
#[unsafe(no_mangle)]
pub extern "C" fn cm_engine_close(engine: cm_engine) -> cm_status {
    let engine = match engines::remove(engine) {
        Ok(engine) => engine,
        Err(status) => return status,
    };
    match catch_unwind(AssertUnwindSafe(|| engine.close())) {
        Ok(()) => cm_status::CM_OK,
        Err(_) => cm_status::CM_E_PANIC,
    }
}

/// Sends a request, which is copied. Events of the call carry `user`.
///
/// # Safety
///
/// The pointers, also those in `request`, are null or point to as much as their types and lengths
/// say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_submit(
    engine: cm_engine,
    request: *const cm_request,
    user: u64,
    out: *mut cm_call,
) -> cm_status {
    enter(engine, |engine| {
        // SAFETY: as the caller promises.
        let request = unsafe { request.as_ref() }.filter(|_| !out.is_null());
        let request = request.ok_or(cm_status::CM_E_ARGUMENT)?;
        // SAFETY: as the caller promises.
        let args = read::argument(unsafe { read::request(request) })?;
        // SAFETY: not null, and as the caller promises.
        engine.submit(args, user, |id| unsafe { out.write(id) })
    })
}

/// Opens a connection to the server of an `https` URL, or finds an open one, so that the next request need not wait for
/// it. This is a call without a response. Its only event is `CM_EVENT_DONE`, and no time but the engine's own limits
/// it.
///
/// # Safety
///
/// `url` points to `len` bytes, `out` to a call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_connect(
    engine: cm_engine,
    url: *const u8,
    len: usize,
    user: u64,
    out: *mut cm_call,
) -> cm_status {
    enter(engine, |engine| {
        if out.is_null() {
            return Err(cm_status::CM_E_ARGUMENT);
        }
        // SAFETY: as the caller promises.
        let url = read::argument(unsafe { read::slice(url, len) })?;
        let url = str::from_utf8(url).map_err(|_| cm_status::CM_E_ARGUMENT)?;
        // SAFETY: not null, and as the caller promises.
        engine.connect(url, user, |id| unsafe { out.write(id) })
    })
}

/// Writes the next bytes of a streamed body; `taken` says how many are copied. `CM_AGAIN`: there is no room;
/// `CM_EVENT_WRITABLE` will say when there is. `CM_END`: the call has ended, and wants no more.
///
/// # Safety
///
/// `bytes` points to `len` bytes, `taken` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_write(
    engine: cm_engine,
    call: cm_call,
    bytes: *const u8,
    len: usize,
    taken: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        if taken.is_null() {
            return Err(cm_status::CM_E_ARGUMENT);
        }
        // SAFETY: not null, and as the caller promises.
        unsafe { taken.write(0) };
        // SAFETY: as the caller promises.
        let bytes = read::argument(unsafe { read::slice(bytes, len) })?;
        let count = engine.call(call)?.write(bytes)?;
        // SAFETY: as above.
        unsafe { taken.write(count) };
        Ok(cm_status::CM_OK)
    })
}

/// Ends a streamed body.
#[unsafe(no_mangle)]
pub extern "C" fn cm_finish(engine: cm_engine, call: cm_call) -> cm_status {
    enter(engine, |engine| Ok(engine.call(call)?.finish()))
}

/// Copies up to `cap` bytes of the response's body; `got` says how many. `CM_AGAIN`: nothing is
/// there; `CM_EVENT_READABLE` or `CM_EVENT_DONE` will say when to ask again. `CM_END`: that was
/// all. An error of the call comes after what was received before it.
///
/// # Safety
///
/// `into` points to `cap` bytes, `got` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_read(
    engine: cm_engine,
    call: cm_call,
    into: *mut u8,
    cap: usize,
    got: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        if got.is_null() || into.is_null() || cap == 0 || cap > isize::MAX as usize {
            return Err(cm_status::CM_E_ARGUMENT);
        }
        // SAFETY: not null, and as the caller promises.
        unsafe { got.write(0) };
        let call = engine.call(call)?;
        // SAFETY: not null, and the caller promises `cap` bytes that are its own. They may never
        // have been written, but bytes are only copied into them.
        let into = unsafe { std::slice::from_raw_parts_mut(into, cap) };
        let count = call.read(into)?;
        // SAFETY: as above.
        unsafe { got.write(count) };
        Ok(cm_status::CM_OK)
    })
}

/// Copies a text of a call, a `cm_text`; `len` says how long it is. `CM_E_ROOM`: longer than `cap`,
/// and nothing was copied. `CM_AGAIN`: it is not there yet. `CM_END`: the call has ended and has
/// none.
///
/// # Safety
///
/// `into` points to `cap` bytes, `len` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_get_text(
    engine: cm_engine,
    call: cm_call,
    what: u32,
    into: *mut u8,
    cap: usize,
    len: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        let text = engine.call(call)?.text(what)?;
        // SAFETY: as the caller promises.
        Ok(unsafe { copy_out(&text, into, cap, len) })
    })
}

/// Cancels a call, which then ends with `CM_E_CANCELLED` unless it already ended.
#[unsafe(no_mangle)]
pub extern "C" fn cm_cancel(engine: cm_engine, call: cm_call) -> cm_status {
    enter(engine, |engine| {
        engine.call(call)?.cancel();
        Ok(cm_status::CM_OK)
    })
}

/// Cancels a call unless it ended, and forgets it. Its id is invalid from now on. It has no more events, but for those
/// that another thread is taking from `cm_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn cm_release(engine: cm_engine, call: cm_call) -> cm_status {
    enter(engine, |engine| Ok(engine.release(call)))
}

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

/// Reports a change of the network that the device uses by default; null: it has none.
///
/// # Safety
///
/// `network` is null or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_set_network(
    engine: cm_engine,
    network: *const cm_network,
) -> cm_status {
    enter(engine, |engine| {
        // SAFETY: as the caller promises.
        let network = unsafe { network.as_ref() }.map(read::network);
        engine
            .client()?
            .network(read::argument(network.transpose())?);
        Ok(cm_status::CM_OK)
    })
}

/// Closes all connections, e.g. when the user logs out. Requests under way fail, or are sent again where that is safe.
/// `forget_sessions`: 1 if TLS sessions, by which servers would know the client again, are forgotten, too; else 0.
/// Waits for the engine's thread. `CM_E_CHAIN_WAITS`: this thread took a `CM_EVENT_CHECK_CHAIN` and has not answered
/// it, and the engine's thread waits for the answer.
#[unsafe(no_mangle)]
pub extern "C" fn cm_disconnect(engine: cm_engine, forget_sessions: u32) -> cm_status {
    enter(engine, |engine| {
        if forget_sessions > 1 {
            return Err(cm_status::CM_E_ARGUMENT);
        }
        engine.wait_for(move |client| async move {
            if forget_sessions == 1 {
                client.forget_sessions();
            }
            client.disconnect().await;
        })
    })
}

/// Closes the connections that carry no request, and returns before that is done.
#[unsafe(no_mangle)]
pub extern "C" fn cm_close_idle(engine: cm_engine) -> cm_status {
    enter(engine, |engine| {
        engine.client()?.close_idle();
        Ok(cm_status::CM_OK)
    })
}

/// Writes what was learnt to `cm_config.memory_folder` and returns when that is done, e.g. when the app goes to the
/// background, where the system may end it. Without this it is written after the first request, at most every 30 s
/// after that, and by `cm_engine_close`. `CM_E_CHAIN_WAITS` as in `cm_disconnect`.
#[unsafe(no_mangle)]
pub extern "C" fn cm_save(engine: cm_engine) -> cm_status {
    enter(engine, |engine| {
        engine.wait_for(|client| async move { client.save().await })
    })
}

/// Sets what the app allows.
///
/// # Safety
///
/// `switches` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_set_switches(
    engine: cm_engine,
    switches: *const cm_switches,
) -> cm_status {
    enter(engine, |engine| {
        // SAFETY: as the caller promises.
        let switches = unsafe { switches.as_ref() }.ok_or(cm_status::CM_E_ARGUMENT)?;
        let percent = u8::try_from(switches.h3_percent).ok();
        let h3_percent = percent.filter(|percent| *percent <= 100);
        engine.client()?.switches(Switches {
            generation: switches.generation,
            engine: switches.engine != 0,
            h3_percent: h3_percent.ok_or(cm_status::CM_E_ARGUMENT)?,
            explore: switches.explore != 0,
        });
        Ok(cm_status::CM_OK)
    })
}

/// Reports that a request which failed here worked by the app's own client, right afterwards. Do not report failures
/// that say nothing against the engine: `CM_E_ARGUMENT`, `CM_E_TOO_MANY`, `CM_E_CERTIFICATE`, `CM_E_CANCELLED`,
/// `CM_E_OFFLINE` and `CM_E_PLAIN`. The engine turns itself off once at least fifty requests were made and more than
/// one in fifty was reported. Requests then end with `CM_E_PLAIN` until the engine is closed.
#[unsafe(no_mangle)]
pub extern "C" fn cm_worked_without(engine: cm_engine) -> cm_status {
    enter(engine, |engine| {
        engine.client()?.fallback_succeeded();
        Ok(cm_status::CM_OK)
    })
}

/// Copies what the last requests took, at most 1,024 of them, as CSV with a header, which `commute import` reads;
/// `arms` is a `cm_arms`. The CSV names neither origins nor networks. `CM_E_ROOM` as in `cm_get_text`; the CSV may have
/// grown by the next call.
///
/// # Safety
///
/// `into` points to `cap` bytes, `len` to a length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_get_metrics(
    engine: cm_engine,
    arms: u32,
    into: *mut u8,
    cap: usize,
    len: *mut usize,
) -> cm_status {
    enter(engine, |engine| {
        let arms = match arms {
            _ if arms == cm_arms::CM_ARMS_PROTOCOLS as u32 => Arms::Protocols,
            _ if arms == cm_arms::CM_ARMS_ROLLOUT as u32 => Arms::Rollout,
            _ => return Err(cm_status::CM_E_ARGUMENT),
        };
        let csv = engine.client()?.metrics().csv(arms);
        // SAFETY: as the caller promises.
        Ok(unsafe { copy_out(csv.as_bytes(), into, cap, len) })
    })
}

/// Makes an engine.
///
/// # Safety
///
/// The pointers in `config` are null or point to as much as their types and lengths say.
unsafe fn make(config: &cm_config) -> Result<Engine, (cm_status, String)> {
    // SAFETY: as the caller promises.
    let (mut builder, patience) =
        unsafe { read::config(config) }.map_err(|refusal| (cm_status::CM_E_ARGUMENT, refusal))?;
    let queue = Arc::new(EventQueue::default());
    let chains = Arc::new(PendingChains::new(Arc::clone(&queue), patience));
    if config.trust == cm_trust::CM_TRUST_APP as u32 {
        builder = builder.trust(Trust::App(Arc::clone(&chains) as _));
    }
    let client = without_sigpipe(|| builder.build()).map_err(|error| {
        let status = match error {
            client::BuildError::Io(_) => cm_status::CM_E_PLATFORM,
            _ => cm_status::CM_E_ARGUMENT,
        };
        (status, error.to_string())
    })?;
    Ok(Engine::new(client, queue, chains))
}

/// Copies bytes to the caller's buffer if they fit, and writes their number to `len`.
///
/// # Safety
///
/// `into` is null or points to `cap` bytes, `len` is null or points to a length.
unsafe fn copy_out(bytes: &[u8], into: *mut u8, cap: usize, len: *mut usize) -> cm_status {
    if !len.is_null() {
        // SAFETY: as the caller promises.
        unsafe { len.write(bytes.len()) };
    }
    if bytes.len() > cap {
        return cm_status::CM_E_ROOM;
    }
    if bytes.is_empty() {
        return cm_status::CM_OK;
    }
    if into.is_null() {
        return cm_status::CM_E_ARGUMENT;
    }
    // SAFETY: as the caller promises; what is copied is the library's own.
    unsafe { into.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    cm_status::CM_OK
}
