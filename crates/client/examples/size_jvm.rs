//! What a binding for the JVM adds to `size`: JNI, and HTTP/1.1 within the process, which OkHttp
//! will speak to the engine. Both are parts of later work; here they only have a size.

#[path = "size.rs"]
mod size;

use std::convert::Infallible;
use std::panic::catch_unwind;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jni::sys::{JNI_VERSION_1_6, jint};
use jni::{JavaVM, sys};

pub use size::commute_size;

/// Called by the JVM.
///
/// # Safety
///
/// `vm` is the JVM's pointer to itself.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn JNI_OnLoad(vm: *mut sys::JavaVM, _: *mut ()) -> jint {
    let attached = catch_unwind(|| {
        // SAFETY: the caller promises it.
        let vm = unsafe { JavaVM::from_raw(vm) };
        vm.attach_current_thread(|env| -> jni::errors::Result<usize> {
            let chain = env.byte_array_from_slice(&[1, 2, 3])?;
            Ok(env.convert_byte_array(chain)?.len())
        })
    });
    match attached {
        Ok(Ok(_)) if serve_a_pipe().is_some() => JNI_VERSION_1_6,
        _ => -1,
    }
}

fn serve_a_pipe() -> Option<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let (_ours, theirs) = tokio::io::duplex(64 << 10);
    let service = service_fn(|request: Request<Incoming>| async move {
        let body = Full::new(Bytes::from(request.uri().path().to_owned()));
        Ok::<_, Infallible>(Response::new(body))
    });
    let server = hyper::server::conn::http1::Builder::new();
    runtime
        .block_on(server.serve_connection(TokioIo::new(theirs), service))
        .ok()
}
