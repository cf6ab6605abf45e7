//! The functions for engines.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use client::{Arms, Switches, Trust};

use crate::abi::{cm_arms, cm_config, cm_engine, cm_network, cm_status, cm_switches, cm_trust};
use crate::chains::PendingChains;
use crate::engine::Engine;
use crate::engines::{self, enter};
use crate::entry::copy_out::copy_out;
use crate::queue::EventQueue;
use crate::read;
use crate::signals::without_sigpipe;

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

/// Reports the HTTPS record (RFC 9460) of a URL's origin, by which a server may offer HTTP/3. `answer` is the resolver's
/// whole DNS message, e.g. that of `res_query`. The type to ask for is 65, the name is the host, with `_8443._https.`
/// before it if the port is 8443. `answer_len` is 0 if the app has only just asked: requests that look the origin up within a
/// second then wait for the answer, at most 50 ms longer than for addresses. An answer may come at any time, and an offer
/// counts for as long as the record holds, and 1 s at least. `CM_END`: the answer offers no HTTP/3, is malformed, is for
/// another name, or leads to one.
///
/// # Safety
///
/// `url` points to `url_len` bytes, `answer` to `answer_len`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cm_https_record(
    engine: cm_engine,
    url: *const u8,
    url_len: usize,
    answer: *const u8,
    answer_len: usize,
) -> cm_status {
    enter(engine, |engine| {
        // SAFETY: as the caller promises.
        let (url, answer) = unsafe {
            (
                read::argument(read::slice(url, url_len))?,
                read::argument(read::slice(answer, answer_len))?,
            )
        };
        let url = str::from_utf8(url).map_err(|_| cm_status::CM_E_ARGUMENT)?;
        let client = engine.client()?;
        let offers = match answer.is_empty() {
            true => client.expect_https_record(url).map(|()| true),
            false => client.https_record(url, answer),
        };
        match offers {
            Ok(true) => Ok(cm_status::CM_OK),
            Ok(false) => Ok(cm_status::CM_END),
            Err(_) => Err(cm_status::CM_E_ARGUMENT),
        }
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
