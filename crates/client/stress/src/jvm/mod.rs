//! Calls of the JNI library, by a mock of the JVM.
//!
//! A JVM under AddressSanitizer reports errors of its own, and ThreadSanitizer does not work in one. The mock has what
//! the library needs of a JVM, and is stricter: each reference is an allocation of its own, and the use of a wrong one
//! aborts. What a JVM does besides, e.g. move objects, is not tested.

mod arguments;
mod functions;
mod library;
mod objects;
mod thread;
mod values;

use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

use jni::sys::{JNIEnv, jboolean, jint, jlong, jobject};

use crate::Plant;
use crate::slots::Slots;
use crate::threads::{self, Weights};
use arguments::{host, request};
use library::Library;
use objects::Verdict;
use thread::{detach, of};

/// Bytes of an array.
const BUFFER: usize = 4096;
/// How often each operation of [`Operations::operate`] is done. Those that end or turn off an engine are seldom, or
/// nothing else would happen.
const WEIGHTS: Weights = Weights(&[
    4, 1, 2, 8, 1, 1, 4, 2, 10, 40, 20, 20, 160, 60, 10, 20, 10, 4, 10,
]);
/// Longest wait for bytes, ms. A limit of 0 is none.
const WAIT_MS: u8 = 8;

/// What a run has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Sockets that were opened.
    pub sockets: u64,
    /// Requests, or what is none, that were written whole.
    pub requests: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Exceptions that the library threw.
    pub exceptions: u64,
    /// Engines that were started.
    pub engines: u64,
}

/// Engines and sockets that any thread may use.
struct Operations {
    library: Library,
    engines: Slots,
    sockets: Slots,
    opened: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    exceptions: AtomicU64,
    started: AtomicU64,
}

/// Calls the JNI library so many times, with random operations of a seed. Fails if the library cannot be loaded.
pub fn run(library: &Path, operations: u64, seed: u64) -> Result<Counts, String> {
    let interface = Operations::new(Library::load(library)?);
    interface.attached(|env| (0..4).for_each(|slot| interface.start(env, slot, slot)));
    threads::run(&WEIGHTS, operations, seed, |_, step| {
        interface.attached(|env| interface.operate(env, step));
    });
    interface.attached(|env| interface.close(env));
    Ok(interface.counts())
}

/// Lets the library use what the mock JVM has made wrong, which a sanitizer reports in the library's code.
pub fn plant(library: &Path, plant: Plant) -> Result<(), String> {
    let interface = Operations::new(Library::load(library)?);
    interface.attached(|env| {
        interface.start(env, 0, 0);
        values::plant(plant);
        interface.open(env, interface.engines.get(0), 0, 0, 0);
        interface.close(env);
    });
    Ok(())
}

impl Operations {
    fn new(library: Library) -> Self {
        Self {
            library,
            engines: Slots::new(),
            sockets: Slots::new(),
            opened: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            exceptions: AtomicU64::new(0),
            started: AtomicU64::new(0),
        }
    }

    /// Runs something on a thread of the mock JVM, which then forgets its local references and its exception.
    fn attached(&self, run: impl FnOnce(*mut JNIEnv)) {
        let env = functions::attach_thread();
        run(env);
        // SAFETY: the thread is attached.
        if unsafe { of(env) }.has_exception {
            count(&self.exceptions, 1);
        }
        detach();
    }

    fn operate(&self, env: *mut JNIEnv, [operation, which, with, more]: [u8; 4]) {
        let engine = self.engines.get(which >> 4) as jlong;
        let socket = self.sockets.get(which) as jlong;
        let (limit_ms, odd) = (jint::from(more), more & 1 == 1);
        let library = &self.library;
        let class = null_mut();
        // SAFETY: the thread is attached, and the arguments are of the types that Native.java says, or null.
        unsafe {
            match operation {
                0 => self.start(env, which >> 4, with),
                1 => (library.end_engine)(env, class, engine),
                2 => {
                    (library.set_switches)(env, class, engine, with.into(), limit_ms - 50, odd);
                }
                3 => self.set_network(env, engine, with, odd),
                4 => (library.set_network)(env, class, engine, null_mut(), odd, 0),
                5 => (library.worked_without)(env, class, engine),
                6 => (library.save)(env, class, engine),
                7 => drop((library.version)(env, class)),
                8 => drop((library.metrics_csv)(env, class, engine, odd)),
                9 => self.open(env, engine as u64, which, with, more),
                10 => {
                    let pool = jint::from(with & 3);
                    (library.set_options)(env, class, socket, limit_ms, odd, pool);
                }
                11 => drop((library.connect)(env, class, socket)),
                12 => self.read(env, socket, with, more),
                13 => self.write(env, socket, with, more),
                14 => (library.close)(env, class, socket),
                15 => drop((library.facts)(env, class, socket)),
                16 => drop((library.why)(env, class, socket)),
                17 => {
                    let (host, port) = host(with);
                    let host = of(env).local(host.map(arguments::text));
                    let answer = self.array(env, &[with; BUFFER], more);
                    (library.https_record)(env, class, engine, host, port, answer);
                }
                _ => drop((library.why_ended)(env, class, socket)),
            }
        }
    }

    /// Starts an engine, whose number replaces another in a slot. That engine ends.
    fn start(&self, env: *mut JNIEnv, slot: u8, with: u8) {
        let verdict = match with % 8 {
            6 => Verdict::Refuses,
            7 => Verdict::Throws,
            _ => Verdict::Accepts,
        };
        // SAFETY: the thread is attached.
        let thread = unsafe { of(env) };
        let trust = thread.local(Some(arguments::trust(verdict)));
        let hints = thread.local(Some(arguments::texts(&["https://127.0.0.1:1/"])));
        let wrong = thread.local((with & 0x30 == 0x30).then(|| arguments::bytes(b"no PEM")));
        // SAFETY: as above, and the arguments are of the types that Native.java says.
        let engine = unsafe {
            (self.library.start_engine)(env, null_mut(), trust, hints, null_mut(), wrong, wrong)
        };
        if engine != 0 {
            count(&self.started, 1);
            let before = self.engines.put(slot, engine as u64) as jlong;
            // SAFETY: as above.
            unsafe { (self.library.end_engine)(env, null_mut(), before) };
        }
    }

    fn set_network(&self, env: *mut JNIEnv, engine: jlong, with: u8, metered: jboolean) {
        // The id is wrong if it is not as long.
        let id = vec![with; 16 - usize::from(with & 1)];
        // SAFETY: the thread is attached, and the arguments are of the types that Native.java says.
        unsafe {
            let id = of(env).local(Some(arguments::bytes(&id)));
            (self.library.set_network)(env, null_mut(), engine, id, metered, jint::from(with % 5));
        }
    }

    /// Opens a socket, whose number replaces another in a slot. That socket is closed.
    fn open(&self, env: *mut JNIEnv, engine: u64, slot: u8, with: u8, limit_ms: u8) {
        let (host, port) = host(with);
        let engine = engine as jlong;
        // SAFETY: the thread is attached, and the arguments are of the types that Native.java says.
        unsafe {
            let host = of(env).local(host.map(arguments::text));
            let limit_ms = limit_ms.into();
            let socket = (self.library.open)(env, null_mut(), engine, host, port, limit_ms);
            if socket != 0 {
                count(&self.opened, 1);
                let before = self.sockets.put(slot, socket as u64) as jlong;
                if !of(env).has_exception {
                    (self.library.close)(env, null_mut(), before);
                }
            }
        }
    }

    fn read(&self, env: *mut JNIEnv, socket: jlong, with: u8, more: u8) {
        let (offset, length) = (jint::from(with) - 4, jint::from(with) * 16 - 4);
        let limit_ms = jint::from(more % WAIT_MS) + 1;
        // SAFETY: the thread is attached, and the arguments are of the types that Native.java says.
        let got = unsafe {
            let into = self.array(env, &[0; BUFFER], more);
            (self.library.read)(env, null_mut(), socket, into, offset, length, limit_ms)
        };
        count(&self.bytes, u64::try_from(got).unwrap_or(0));
    }

    fn write(&self, env: *mut JNIEnv, socket: jlong, with: u8, more: u8) {
        let bytes = request(with);
        let length = jint::try_from(bytes.len()).expect("requests are short");
        // A region that goes beyond the array is an exception.
        let offset = jint::from(more % 32 == 1);
        // SAFETY: the thread is attached, and the arguments are of the types that Native.java says.
        let outcome = unsafe {
            let from = self.array(env, bytes.as_bytes(), more);
            (self.library.write)(env, null_mut(), socket, from, offset, length)
        };
        // SAFETY: the thread is attached.
        if outcome == 0 && !unsafe { of(env) }.has_exception {
            count(&self.requests, 1);
        }
    }

    /// Creates an array, or null.
    fn array(&self, env: *mut JNIEnv, bytes: &[u8], more: u8) -> jobject {
        let array = (more % 32 != 2).then(|| arguments::bytes(bytes));
        // SAFETY: the thread is attached.
        unsafe { of(env) }.local(array)
    }

    fn close(&self, env: *mut JNIEnv) {
        // SAFETY: the thread is attached.
        unsafe {
            for socket in self.sockets.all() {
                (self.library.close)(env, null_mut(), socket as jlong);
            }
            for engine in self.engines.all() {
                (self.library.end_engine)(env, null_mut(), engine as jlong);
            }
        }
    }

    fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            sockets: read(&self.opened),
            requests: read(&self.requests),
            bytes: read(&self.bytes),
            exceptions: read(&self.exceptions),
            engines: read(&self.started),
        }
    }
}

fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
