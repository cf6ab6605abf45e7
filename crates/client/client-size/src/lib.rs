//! A library with the engine and no more: how large will an app get? `measure` beside this builds it. An example of
//! the client would have the features of what its tests depend on.

use std::ffi::{CStr, c_char};
use std::panic::catch_unwind;

/// Fetches `url`. Returns the bytes of its body, or -1.
///
/// # Safety
///
/// `url` is a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn commute_size(url: *const c_char) -> i64 {
    // SAFETY: the caller promises it.
    let url = unsafe { CStr::from_ptr(url) };
    let fetched = catch_unwind(|| -> Option<i64> {
        let url = url.to_str().ok()?;
        let engine = client::Engine::builder()
            .hint_h3(url)
            .memory("memory")
            .build()
            .ok()?;
        let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
        let body = runtime.block_on(async {
            let response = engine.get(url).send().await.ok()?;
            response.bytes(1 << 20).await.ok()
        });
        i64::try_from(body?.len()).ok()
    });
    fetched.ok().flatten().unwrap_or(-1)
}
