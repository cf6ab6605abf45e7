mod server;

use std::sync::Mutex;

use client_c::*;

use server::SERVER;

const THREADS: usize = 4;
/// A buffer of the caller's; what lies behind it must stay as it is.
const BUFFER: usize = 64;
const GUARD: u8 = 0xa5;
/// How many there are in `operate`.
const OPERATIONS: u8 = 21;
const NOTHING: cm_bytes = cm_bytes {
    ptr: std::ptr::null(),
    len: 0,
};
/// Nobody listens there, and nothing needs to be resolved.
const DEAD: [&str; 4] = [
    "https://127.0.0.1:1/",
    "https://[::1]:1/a",
    "http://127.0.0.1/",
    "no URL",
];

/// Ids that any thread may use.
#[derive(Default)]
struct Ids {
    engines: Vec<u64>,
    calls: Vec<u64>,
    chains: Vec<u64>,
}

/// Calls the client's C interface in any sequence, from four threads at once, with ids that are live, stale, foreign or
/// made up. A server answers some of the requests. Nothing may crash, hang, or touch memory that is not its own.
pub fn c_abi(data: &[u8]) {
    let ids = Mutex::new(Ids::default());
    for trust in [cm_trust::CM_TRUST_ROOTS, cm_trust::CM_TRUST_APP] {
        let (status, engine) = new_engine(0, trust as u32);
        assert_eq!(status, cm_status::CM_OK);
        lock(&ids).engines.push(engine);
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let ids = &ids;
            scope.spawn(move || {
                // Four bytes are an operation: which, on what, and with what.
                for step in data.chunks_exact(4).skip(thread).step_by(THREADS) {
                    operate(ids, [step[0], step[1], step[2], step[3]]);
                }
            });
        }
    });
    for engine in ids.into_inner().expect("no thread panicked").engines {
        let status = cm_engine_close(engine);
        assert!(matches!(status, cm_status::CM_OK | cm_status::CM_E_CLOSED));
    }
}

fn operate(ids: &Mutex<Ids>, [operation, which, with, more]: [u8; 4]) {
    let engine = pick(&lock(ids).engines, which >> 4);
    let call = pick(&lock(ids).calls, which);
    let chain = pick(&lock(ids).chains, which);
    let (mut buffer, mut length) = ([GUARD; 2 * BUFFER], 0);
    let into = buffer.as_mut_ptr();
    let cap = usize::from(with) % (BUFFER + 1);
    // SAFETY: each pointer is null or points to as much as its length says.
    let status = unsafe {
        match operation % OPERATIONS {
            0 => submit(ids, engine, with, more),
            1 => cm_read(engine, call, into, cap, &mut length),
            2 => cm_write(engine, call, into, cap, &mut length),
            3 => cm_finish(engine, call),
            4 => cm_cancel(engine, call),
            5 => cm_release(engine, call),
            6 => cm_get_text(engine, call, u32::from(more % 6), into, cap, &mut length),
            // A response takes a few milliseconds.
            7 => wait(ids, engine, usize::from(with % 8), i32::from(more % 16)),
            8 => cm_get_chain(engine, chain, usize::from(more % 4), into, cap, &mut length),
            9 => cm_answer_chain(engine, chain, u32::from(more % 3)),
            10 => cm_set_network(engine, std::ptr::null()),
            11 => cm_set_network(engine, &network(with)),
            12 => cm_set_switches(engine, &switches(with, more)),
            13 => cm_read(engine, call, std::ptr::null_mut(), cap, &mut length),
            14 => cm_submit(engine, std::ptr::null(), 0, &mut 0),
            15 => cm_get_metrics(engine, u32::from(more % 3), into, cap, &mut length),
            16 => connect(ids, engine, with),
            17 => cm_worked_without(engine),
            18 => cm_save(engine),
            19 => cm_disconnect(engine, u32::from(more % 3)),
            _ => reopen(ids, engine, u32::from(with % 5), u32::from(more % 4)),
        }
    };
    assert_ne!(status, cm_status::CM_E_PANIC, "operation {operation}");
    let beyond = &buffer[BUFFER..];
    assert!(
        beyond.iter().all(|byte| *byte == GUARD),
        "written beyond the buffer"
    );
}

fn connect(ids: &Mutex<Ids>, engine: u64, with: u8) -> cm_status {
    let url = url(with);
    let mut call = 0;
    // SAFETY: both point to what the header says.
    let status = unsafe { cm_connect(engine, url.as_ptr(), url.len(), 0, &mut call) };
    if status == cm_status::CM_OK {
        lock(ids).calls.push(call);
    }
    status
}

fn submit(ids: &Mutex<Ids>, engine: u64, with: u8, more: u8) -> cm_status {
    let fields = [cm_field {
        name: bytes("x-name"),
        value: bytes(if more & 1 == 0 { "value" } else { "no\nvalue" }),
    }];
    let request = cm_request {
        method: bytes(["GET", "GET", "POST", "PO ST"][usize::from(more & 3)]),
        url: bytes(url(with)),
        headers: fields.as_ptr(),
        header_count: usize::from(more >> 2 & 1),
        body: NOTHING,
        streamed_bytes: i64::from(more >> 3) - 2,
        expect_bytes: 0,
        label: NOTHING,
        flags: u32::from(with >> 3),
        limit_ms: u32::from(more),
        connect_ms: u32::from(with),
        first_byte_ms: u32::from(more >> 4),
        idle_ms: u32::from(with >> 4),
    };
    let mut call = 0;
    // SAFETY: all point to what the header says.
    let status = unsafe { cm_submit(engine, &request, 0, &mut call) };
    if status == cm_status::CM_OK {
        lock(ids).calls.push(call);
    }
    status
}

fn wait(ids: &Mutex<Ids>, engine: u64, cap: usize, wait_ms: i32) -> cm_status {
    let (mut events, mut count) = (Vec::<cm_event>::with_capacity(cap), 0);
    // SAFETY: there is room for `cap` events, and as many as `count` says were written.
    unsafe {
        let status = cm_wait(engine, events.as_mut_ptr(), cap, wait_ms, &mut count);
        assert!(count <= cap);
        events.set_len(count);
        for event in events {
            if event.kind == cm_event_kind::CM_EVENT_CHECK_CHAIN {
                lock(ids).chains.push(event.number);
            }
        }
        status
    }
}

/// Closes an engine and opens another. The closed one's id stays among those in use.
fn reopen(ids: &Mutex<Ids>, engine: u64, policy: u32, trust: u32) -> cm_status {
    let closed = cm_engine_close(engine);
    let (status, engine) = new_engine(policy, trust);
    if status == cm_status::CM_OK {
        lock(ids).engines.push(engine);
    }
    closed
}

fn new_engine(policy: u32, trust: u32) -> (cm_status, u64) {
    let hints = [bytes(DEAD[0])];
    let addresses = [cm_field {
        name: bytes("localhost"),
        value: bytes("127.0.0.1"),
    }];
    let roots = trust == cm_trust::CM_TRUST_ROOTS as u32;
    let config = cm_config {
        policy,
        trust,
        roots_pem: if roots {
            bytes(&SERVER.roots_pem)
        } else {
            NOTHING
        },
        identity_chain_pem: NOTHING,
        identity_key_pem: NOTHING,
        memory_folder: NOTHING,
        h3_hints: hints.as_ptr(),
        h3_hint_count: hints.len(),
        addresses: addresses.as_ptr(),
        address_count: addresses.len(),
        early_data: policy & 1,
        check_chain_ms: 20,
    };
    let mut engine = 0;
    // SAFETY: all are null or point to what the header says.
    let status = unsafe {
        cm_engine_new(
            &config,
            &mut engine,
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
        )
    };
    (status, engine)
}

/// Returns a known id, or one that nobody has.
fn pick(ids: &[u64], which: u8) -> u64 {
    ids.get(usize::from(which & 15))
        .copied()
        .unwrap_or(u64::from(which))
}

/// Returns a URL that is answered, or one that is not.
fn url(with: u8) -> &'static str {
    let live = &SERVER.urls;
    let which = usize::from(with & 15) % (DEAD.len() + live.len());
    DEAD.get(which)
        .copied()
        .unwrap_or_else(|| &live[which - DEAD.len()])
}

fn network(with: u8) -> cm_network {
    cm_network {
        id: [with; 16],
        metered: u32::from(with & 1),
        kind: u32::from(with % 5),
    }
}

fn switches(with: u8, more: u8) -> cm_switches {
    cm_switches {
        generation: u32::from(with),
        engine: u32::from(more & 1),
        h3_percent: u32::from(with),
        explore: u32::from(more & 2),
    }
}

fn bytes(text: &str) -> cm_bytes {
    cm_bytes {
        ptr: text.as_ptr(),
        len: text.len(),
    }
}

fn lock(ids: &Mutex<Ids>) -> std::sync::MutexGuard<'_, Ids> {
    ids.lock().expect("no thread panicked")
}
