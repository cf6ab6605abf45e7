//! Errors of a caller, made on purpose.

use std::ptr::null_mut;
use std::{hint, mem, thread};

use client_c::*;

use super::calls::{new_engine, request};
use crate::Plant;

/// A buffer that threads share as C shares it.
#[derive(Clone, Copy)]
struct Shared(*mut u8, usize);

// SAFETY: sharing it without a lock is the error that is planted.
unsafe impl Send for Shared {}

/// Calls the C interface wrongly, in a way that a sanitizer reports in the library's code.
pub fn plant(plant: Plant) {
    let (status, engine) = new_engine(0, 0);
    assert_eq!(status, cm_status::CM_OK);
    match plant {
        Plant::UseAfterFree => {
            let url = String::from("https://localhost/freed");
            let mut request = request(&[], 0, 0);
            request.url = cm_bytes {
                ptr: url.as_ptr(),
                len: url.len(),
            };
            drop(url);
            // SAFETY: none: the URL is freed, which is the error that is planted.
            unsafe { cm_submit(engine, &request, 0, &mut 0) };
        }
        Plant::DataRace => {
            let mut buffer = vec![0; 4096];
            let shared = Shared(buffer.as_mut_ptr(), buffer.len());
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(move || {
                        let Shared(into, cap) = { shared };
                        // SAFETY: none: two threads write there, which is the error that is planted.
                        unsafe { cm_get_metrics(engine, 0, into, cap, null_mut()) };
                    });
                }
            });
        }
        // Each is larger than the one before, so that no register or stack still points to all of them.
        Plant::Leak => (1..100).for_each(|size| {
            mem::forget(hint::black_box(vec![0_u8; size * 100]));
        }),
    }
    cm_engine_close(engine);
}
