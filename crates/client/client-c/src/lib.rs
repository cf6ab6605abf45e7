//! The client behind a C interface: `bindings/c/commute.h`, which is made from this crate.
//!
//! ```c
//! cm_config config = {0};
//! cm_engine engine;
//! cm_engine_new(&config, &engine, NULL, 0, NULL);
//! cm_request request = {.method = {"GET", 3}, .url = {url, strlen(url)}};
//! cm_call call;
//! cm_submit(engine, &request, 0, &call);
//! cm_event event;
//! size_t count;
//! cm_wait(engine, &event, 1, -1, &count); // CM_EVENT_HEAD; then CM_EVENT_READABLE, CM_EVENT_DONE
//! ```
//!
//! # The life of a call
//!
//! `cm_submit` copies the request and returns. What happens to it comes out of `cm_wait`, the only
//! function that blocks, but for `cm_engine_close`, `cm_disconnect` and `cm_save`, which wait for the engine's
//! thread.
//! `cm_write` and `cm_read` take or give what there is room or data for; when they return
//! `CM_AGAIN`, an event says when to ask again. `CM_EVENT_DONE` is a call's last event. Its id is
//! good until `cm_release`, which every call needs, whether it ended or not.
//!
//! # Why so
//!
//! - Native code never calls the app. Calls into runtimes with a garbage collector, ahead-of-time
//!   compilers or domains that are unloaded are hard; a thread that waits is easy.
//! - Engines and calls are numbers that are never used twice in a process, and live in maps. No
//!   pointer can dangle, and a number that is stale, or of another engine, is an error. (A slab with
//!   generations would take a call of another engine for its own if slot and generation agree.)
//! - The library frees no memory of the app's, nor the app any of the library's: texts are copied
//!   into the caller's buffers.
//! - Configuration and requests are plain structs and texts are lines. Encodings such as CBOR would
//!   make each binding bring an encoder.
//! - The queue is bounded without losing anything: a call is in it once, with a mark per kind of
//!   event. So are bodies: 64 KiB each way, and what one piece brought beyond (64 KiB over HTTP/3, else a frame).
//! - A panic poisons its engine: all its functions return `CM_E_PANIC`, and its calls end with that.
//!   Other engines and the process go on.
//!
//! All functions may be called from any thread. The engine's own threads take no SIGPIPE.
//!
//! # Building
//!
//! `cargo rustc --profile dist -p commute-client-c --features quiet --crate-type cdylib` makes
//! `libcommute_client.so` as apps ship it. With `staticlib` instead of `cdylib` it makes an archive,
//! which iOS needs. (`cargo build` makes a library for Rust, too, and then optimises less across crates.)

mod abi;
mod body;
mod call;
mod chains;
mod drive;
mod engine;
mod engines;
mod entry;
mod queue;
mod read;
mod report;
mod signals;

use std::sync::atomic::{AtomicU64, Ordering};

pub use abi::*;
pub use entry::*;

/// Returns a number that this process has not used for anything else.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
