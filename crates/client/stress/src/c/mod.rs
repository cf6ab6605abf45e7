//! Calls of the C interface.

mod calls;
mod plant;

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client_c::*;

use crate::slots::Slots;
use crate::threads::{self, THREADS, Weights};
use calls::{bytes, network, new_engine, request, switches, url};
pub use plant::plant;

/// A buffer of the caller's; what lies behind it must stay as it is.
const BUFFER: usize = 64;
const GUARD: u8 = 0xa5;
/// How often each operation of [`Operations::operate`] is done at random. Those that end or turn off an engine are
/// seldom, or nothing else would happen.
const WEIGHTS: Weights = Weights(&[
    40, 80, 40, 20, 5, 5, 40, 100, 20, 20, 1, 8, 2, 20, 20, 10, 8, 1, 4, 4, 3, 4,
]);
const OPERATIONS: u8 = WEIGHTS.0.len() as u8;
/// Longest wait for an event, ms. It fits into the low bits of a byte.
const WAIT_MS: u8 = 4;
/// From this byte on, a wait for events answers chains at once. The last one refuses them.
const ANSWERED: u8 = 96;
/// Most operations of an input of the fuzzer. A mutation of a longer one would only take longer.
const MAX_STEPS: usize = 64;

/// What a run has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Heads of responses.
    pub responses: u64,
    /// Bytes of responses' bodies.
    pub bytes: u64,
    /// Calls that ended.
    pub ended: u64,
    /// Certificate chains that were answered.
    pub chains: u64,
    /// Engines that were closed before the end.
    pub engines: u64,
}

/// Engines, calls and chains that any thread may use.
struct Operations {
    engines: Slots,
    calls: Slots,
    chains: Slots,
    next_chain: AtomicU8,
    /// How long waits may still be in vain, ns.
    wait_ns: AtomicI64,
    responses: AtomicU64,
    bytes: AtomicU64,
    ended: AtomicU64,
    answered: AtomicU64,
    closed: AtomicU64,
}

/// Calls the C interface so many times, with random operations of a seed.
pub fn run(operations: u64, seed: u64) -> Counts {
    let interface = Operations::new(4, Duration::MAX);
    threads::run(&WEIGHTS, operations, seed, |_, step| {
        interface.operate(step);
    });
    interface.close()
}

/// Calls the C interface as the bytes say, from several threads at once. They wait for events that do not come for `wait`
/// at most, all together. Nothing may crash, hang, or touch memory that is not its own.
pub fn run_input(data: &[u8], wait: Duration) -> Counts {
    let interface = Operations::new(2, wait);
    std::thread::scope(|scope| {
        for thread in 0..THREADS.into() {
            let interface = &interface;
            let steps = data.as_chunks::<4>().0.iter().take(MAX_STEPS);
            scope.spawn(move || {
                for step in steps.skip(thread).step_by(THREADS.into()) {
                    interface.operate(*step);
                }
            });
        }
    });
    interface.close()
}

impl Operations {
    /// Starts so many engines; every other one asks the app about certificates.
    fn new(engines: u8, wait: Duration) -> Self {
        let interface = Self {
            engines: Slots::new(),
            calls: Slots::new(),
            chains: Slots::new(),
            next_chain: AtomicU8::new(0),
            wait_ns: AtomicI64::new(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)),
            responses: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        };
        for slot in 0..engines {
            let trust = [cm_trust::CM_TRUST_ROOTS, cm_trust::CM_TRUST_APP][usize::from(slot % 2)];
            let (status, engine) = new_engine(0, trust as u32);
            assert_eq!(status, cm_status::CM_OK);
            interface.engines.put(slot, engine);
        }
        interface
    }

    fn operate(&self, [operation, which, with, more]: [u8; 4]) {
        let engine = self.engines.get(which >> 4);
        let call = self.calls.get(which);
        let chain = self.chains.get(which);
        let (mut buffer, mut length) = ([GUARD; 2 * BUFFER], 0);
        let into = buffer.as_mut_ptr();
        let cap = usize::from(with) % (BUFFER + 1);
        // SAFETY: each pointer is null or points to as much as its length says.
        let status = unsafe {
            match operation % OPERATIONS {
                0 => self.submit(engine, which, with, more),
                1 => cm_read(engine, call, into, cap, &mut length),
                2 => cm_write(engine, call, into, cap, &mut length),
                3 => cm_finish(engine, call),
                4 => cm_cancel(engine, call),
                5 => cm_release(engine, call),
                6 => cm_get_text(engine, call, u32::from(more % 6), into, cap, &mut length),
                7 => self.wait(engine, usize::from(with % 8), more),
                8 => cm_get_chain(engine, chain, usize::from(more % 4), into, cap, &mut length),
                9 => cm_answer_chain(engine, chain, u32::from(more % 3)),
                10 => cm_set_network(engine, std::ptr::null()),
                11 => cm_set_network(engine, &network(with)),
                12 => cm_set_switches(engine, &switches(with, more)),
                13 => cm_read(engine, call, std::ptr::null_mut(), cap, &mut length),
                14 => cm_submit(engine, std::ptr::null(), 0, &mut 0),
                15 => cm_get_metrics(engine, u32::from(more % 3), into, cap, &mut length),
                16 => self.connect(engine, which, with),
                17 => cm_worked_without(engine),
                18 => cm_save(engine),
                19 => cm_disconnect(engine, u32::from(more % 3)),
                20 => self.reopen(which >> 4, with, more),
                _ => {
                    let url = url(with);
                    cm_https_record(engine, url.as_ptr(), url.len(), into, cap)
                }
            }
        };
        assert_ne!(status, cm_status::CM_E_PANIC, "operation {operation}");
        let beyond = &buffer[BUFFER..];
        assert!(
            beyond.iter().all(|byte| *byte == GUARD),
            "written beyond the buffer"
        );
        if status == cm_status::CM_OK {
            match operation % OPERATIONS {
                1 => count(&self.bytes, length as u64),
                9 => count(&self.answered, 1),
                _ => {}
            }
        }
    }

    fn connect(&self, engine: u64, slot: u8, with: u8) -> cm_status {
        let url = url(with);
        let mut call = 0;
        // SAFETY: both point to what the header says.
        let status = unsafe { cm_connect(engine, url.as_ptr(), url.len(), 0, &mut call) };
        self.replace(status, engine, slot, call)
    }

    fn submit(&self, engine: u64, slot: u8, with: u8, more: u8) -> cm_status {
        let fields = [cm_field {
            name: bytes("x-name"),
            value: bytes(if more & 1 == 0 { "value" } else { "no\nvalue" }),
        }];
        let mut call = 0;
        // SAFETY: all point to what the header says.
        let status = unsafe { cm_submit(engine, &request(&fields, with, more), 0, &mut call) };
        self.replace(status, engine, slot, call)
    }

    /// Releases the call that was in a slot before.
    fn replace(&self, status: cm_status, engine: u64, slot: u8, call: u64) -> cm_status {
        if status == cm_status::CM_OK {
            let released = cm_release(engine, self.calls.put(slot, call));
            assert_ne!(released, cm_status::CM_E_PANIC);
        }
        status
    }

    /// Waits for events. The low bits of `more` say for how long, the high ones how chains are answered.
    fn wait(&self, engine: u64, cap: usize, more: u8) -> cm_status {
        let (mut events, mut number) = (Vec::<cm_event>::with_capacity(cap), 0);
        let may_wait = self.wait_ns.load(Ordering::Relaxed) > 0;
        let wait_ms = if may_wait {
            i32::from(more % WAIT_MS)
        } else {
            0
        };
        let began = Instant::now();
        // SAFETY: there is room for `cap` events, and as many as `number` says were written.
        let status = unsafe {
            let status = cm_wait(engine, events.as_mut_ptr(), cap, wait_ms, &mut number);
            assert!(number <= cap);
            events.set_len(number);
            status
        };
        if events.is_empty() {
            let waited = i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX);
            self.wait_ns.fetch_sub(waited, Ordering::Relaxed);
        }
        for event in events {
            match event.kind {
                cm_event_kind::CM_EVENT_HEAD => count(&self.responses, 1),
                cm_event_kind::CM_EVENT_DONE => count(&self.ended, 1),
                cm_event_kind::CM_EVENT_CHECK_CHAIN => {
                    let slot = self.next_chain.fetch_add(1, Ordering::Relaxed);
                    self.chains.put(slot, event.number);
                    if more >= ANSWERED {
                        let accepted = u32::from(more != u8::MAX);
                        if cm_answer_chain(engine, event.number, accepted) == cm_status::CM_OK {
                            count(&self.answered, 1);
                        }
                    }
                }
                _ => {}
            }
        }
        status
    }

    /// Closes an engine and opens another one in its slot.
    fn reopen(&self, slot: u8, with: u8, more: u8) -> cm_status {
        // Half of them can reach the server whatever they learn.
        let policy = if with < 128 { 0 } else { u32::from(with % 6) };
        let trust = match more {
            0..96 => cm_trust::CM_TRUST_ROOTS as u32,
            96..192 => cm_trust::CM_TRUST_APP as u32,
            _ => u32::from(more % 4),
        };
        let (status, engine) = new_engine(policy, trust);
        if status != cm_status::CM_OK {
            return status;
        }
        count(&self.closed, 1);
        cm_engine_close(self.engines.put(slot, engine))
    }

    fn close(self) -> Counts {
        for engine in self.engines.all() {
            let status = cm_engine_close(engine);
            assert!(matches!(status, cm_status::CM_OK | cm_status::CM_E_CLOSED));
        }
        Counts {
            responses: self.responses.into_inner(),
            bytes: self.bytes.into_inner(),
            ended: self.ended.into_inner(),
            chains: self.answered.into_inner(),
            engines: self.closed.into_inner(),
        }
    }
}

fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
