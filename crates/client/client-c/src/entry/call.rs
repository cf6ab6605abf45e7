//! The functions for calls.

use crate::abi::{cm_call, cm_engine, cm_request, cm_status};
use crate::engines::enter;
use crate::entry::copy_out::copy_out;
use crate::read;

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
