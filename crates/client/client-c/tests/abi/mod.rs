//! The C interface, called as C does, in a shape that tests can read.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::ptr::null;
use std::time::Duration;

use commute_client::*;

pub const NOTHING: cm_bytes = cm_bytes {
    ptr: null(),
    len: 0,
};

pub const CONFIG: cm_config = cm_config {
    policy: 0,
    trust: 0,
    roots_pem: NOTHING,
    identity_chain_pem: NOTHING,
    identity_key_pem: NOTHING,
    memory_folder: NOTHING,
    h3_hints: null(),
    h3_hint_count: 0,
    addresses: null(),
    address_count: 0,
    early_data: 0,
    check_chain_ms: 0,
};

pub const REQUEST: cm_request = cm_request {
    method: NOTHING,
    url: NOTHING,
    headers: null(),
    header_count: 0,
    body: NOTHING,
    streamed_bytes: 0,
    expect_bytes: 0,
    label: NOTHING,
    flags: 0,
    limit_ms: 0,
    connect_ms: 0,
    first_byte_ms: 0,
    idle_ms: 0,
};

pub fn bytes(bytes: &(impl AsRef<[u8]> + ?Sized)) -> cm_bytes {
    let bytes = bytes.as_ref();
    cm_bytes {
        ptr: bytes.as_ptr(),
        len: bytes.len(),
    }
}

pub fn field(name: &'static str, value: &'static str) -> cm_field {
    let (name, value) = (bytes(name), bytes(value));
    cm_field { name, value }
}

pub fn open(config: &cm_config) -> Result<cm_engine, (cm_status, String)> {
    let (mut engine, mut error, mut len) = (0, vec![0; 256], 0);
    // SAFETY: all point to what the header says.
    let status = unsafe {
        cm_engine_new(
            config,
            &mut engine,
            error.as_mut_ptr(),
            error.len(),
            &mut len,
        )
    };
    match status {
        cm_status::CM_OK => Ok(engine),
        error_status => {
            error.truncate(len);
            Err((error_status, String::from_utf8(error).unwrap()))
        }
    }
}

/// Opens an engine that trusts these roots, and knows that localhost is 127.0.0.1.
pub fn trusting(roots_pem: &[u8]) -> cm_engine {
    let addresses = [field("localhost", "127.0.0.1")];
    open(&cm_config {
        trust: cm_trust::CM_TRUST_ROOTS as u32,
        roots_pem: bytes(roots_pem),
        addresses: addresses.as_ptr(),
        address_count: addresses.len(),
        ..CONFIG
    })
    .unwrap()
}

/// Opens an engine that asks about every chain, and knows that localhost is 127.0.0.1.
pub fn asking() -> cm_engine {
    let addresses = [field("localhost", "127.0.0.1")];
    open(&cm_config {
        trust: cm_trust::CM_TRUST_APP as u32,
        addresses: addresses.as_ptr(),
        address_count: addresses.len(),
        ..CONFIG
    })
    .unwrap()
}

pub fn submit(engine: cm_engine, request: &cm_request, user: u64) -> Result<cm_call, cm_status> {
    let mut call = 0;
    // SAFETY: both point to what the header says.
    match unsafe { cm_submit(engine, request, user, &mut call) } {
        cm_status::CM_OK => Ok(call),
        status => Err(status),
    }
}

pub fn connect(engine: cm_engine, url: &str, user: u64) -> Result<cm_call, cm_status> {
    let mut call = 0;
    // SAFETY: both point to what the header says.
    match unsafe { cm_connect(engine, url.as_ptr(), url.len(), user, &mut call) } {
        cm_status::CM_OK => Ok(call),
        status => Err(status),
    }
}

pub fn get(engine: cm_engine, url: &str, user: u64) -> cm_call {
    let (method, url) = (bytes("GET"), bytes(url));
    let request = cm_request {
        method,
        url,
        ..REQUEST
    };
    submit(engine, &request, user).unwrap()
}

/// Waits for up to `cap` events.
pub fn wait(
    engine: cm_engine,
    cap: usize,
    wait: Option<Duration>,
) -> Result<Vec<cm_event>, cm_status> {
    let mut events = Vec::with_capacity(cap);
    let wait_ms = wait.map_or(-1, |wait| wait.as_millis() as i32);
    let mut count = 0;
    // SAFETY: there is room for `cap` events, and as many as `count` says were written.
    match unsafe { cm_wait(engine, events.as_mut_ptr(), cap, wait_ms, &mut count) } {
        cm_status::CM_OK => {
            // SAFETY: as above.
            unsafe { events.set_len(count) };
            Ok(events)
        }
        status => Err(status),
    }
}

/// Waits for the next event, which a working engine has within a minute.
pub fn next(engine: cm_engine) -> cm_event {
    let events = wait(engine, 1, Some(Duration::from_secs(60)));
    events.expect("no event within a minute")[0]
}

/// Waits for the next event of this kind, and drops the others.
pub fn next_of(engine: cm_engine, kind: cm_event_kind) -> cm_event {
    loop {
        let event = next(engine);
        if event.kind == kind {
            return event;
        }
    }
}

pub fn write(engine: cm_engine, call: cm_call, piece: &[u8]) -> Result<usize, cm_status> {
    let mut taken = 0;
    // SAFETY: both point to what the header says.
    match unsafe { cm_write(engine, call, piece.as_ptr(), piece.len(), &mut taken) } {
        cm_status::CM_OK => Ok(taken),
        status => Err(status),
    }
}

pub fn read(engine: cm_engine, call: cm_call, cap: usize) -> Result<Vec<u8>, cm_status> {
    let (mut into, mut got) = (vec![0; cap], 0);
    // SAFETY: both point to what the header says.
    match unsafe { cm_read(engine, call, into.as_mut_ptr(), cap, &mut got) } {
        cm_status::CM_OK => {
            into.truncate(got);
            Ok(into)
        }
        status => Err(status),
    }
}

/// Reads to the end, waiting for events, which must be of this call.
pub fn read_all(engine: cm_engine, call: cm_call) -> Result<Vec<u8>, cm_status> {
    let mut all = Vec::new();
    loop {
        match read(engine, call, 10_000) {
            Ok(piece) => all.extend(piece),
            Err(cm_status::CM_AGAIN) => assert_eq!(next(engine).call, call),
            Err(cm_status::CM_END) => return Ok(all),
            Err(status) => return Err(status),
        }
    }
}

pub fn text(engine: cm_engine, call: cm_call, what: cm_text) -> Result<String, cm_status> {
    copied(|into, cap, len| {
        // SAFETY: all point to what the header says.
        unsafe { cm_get_text(engine, call, what as u32, into, cap, len) }
    })
    .map(|text| String::from_utf8(text).unwrap())
}

pub fn chain(engine: cm_engine, number: u64, part: usize) -> Result<Vec<u8>, cm_status> {
    copied(|into, cap, len| {
        // SAFETY: all point to what the header says.
        unsafe { cm_get_chain(engine, number, part, into, cap, len) }
    })
}

/// Asks for the length first, as an app without a buffer does.
fn copied(copy: impl Fn(*mut u8, usize, *mut usize) -> cm_status) -> Result<Vec<u8>, cm_status> {
    let mut len = 0;
    let status = copy(std::ptr::null_mut(), 0, &mut len);
    if status != cm_status::CM_E_ROOM {
        return match status {
            cm_status::CM_OK => Ok(Vec::new()),
            status => Err(status),
        };
    }
    let mut into = vec![0; len];
    match copy(into.as_mut_ptr(), len, &mut len) {
        cm_status::CM_OK => Ok(into),
        status => Err(status),
    }
}

/// Waits for the end of a call.
pub fn ending(engine: cm_engine, call: cm_call) -> cm_status {
    done(engine, call).0
}

/// Waits for the end of a call; returns its status and whether the server may have acted.
pub fn done(engine: cm_engine, call: cm_call) -> (cm_status, u64) {
    loop {
        let event = next(engine);
        if (event.kind, event.call) == (cm_event_kind::CM_EVENT_DONE, call) {
            return (event.status, event.number);
        }
    }
}
