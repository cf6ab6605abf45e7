//! Errors of a caller, made on purpose.

use std::{hint, mem, thread};

use client_c::*;

use super::calls::{new_engine, request};
use crate::Plant;

/// Races that are planted. ThreadSanitizer keeps the last few accesses only, so it may miss one.
const ROUNDS: u32 = 100;

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
        Plant::DataRace => (0..ROUNDS).for_each(|_| race(engine)),
        // Each is larger than the one before, so that no register or stack still points to all of them.
        Plant::Leak => (1..100).for_each(|size| {
            mem::forget(hint::black_box(vec![0_u8; size * 100]));
        }),
    }
    cm_engine_close(engine);
}

fn race(engine: u64) {
    let mut url = *b"https://localhost/raced";
    let at = url.as_mut_ptr() as usize;
    thread::scope(|scope| {
        // SAFETY: none: the library reads what is written here, which is the error that is planted.
        scope.spawn(move || unsafe { *(at as *mut u8) = b'h' });
        // SAFETY: as above.
        unsafe { cm_connect(engine, at as *const u8, url.len(), 0, &mut 0) };
    });
}
