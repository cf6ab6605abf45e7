//! Arguments of the C interface.

use client_c::*;

use crate::server::SERVER;

const NOTHING: cm_bytes = cm_bytes {
    ptr: std::ptr::null(),
    len: 0,
};
/// The unit of limits. With a sanitizer, a response takes some ten milliseconds.
const LIMIT_MS: u32 = 16;
/// Nobody listens there, and nothing needs to be resolved.
const DEAD: [&str; 4] = [
    "https://127.0.0.1:1/",
    "https://[::1]:1/a",
    "http://127.0.0.1/",
    "no URL",
];

pub(super) fn request(fields: &[cm_field], with: u8, more: u8) -> cm_request {
    cm_request {
        method: bytes(["GET", "GET", "POST", "PO ST"][usize::from(more & 3)]),
        url: bytes(url(with)),
        headers: fields.as_ptr(),
        header_count: usize::from(more >> 2 & 1),
        body: NOTHING,
        streamed_bytes: i64::from(more >> 3) - 2,
        expect_bytes: 0,
        label: NOTHING,
        flags: u32::from(with >> 3),
        limit_ms: u32::from(more) * LIMIT_MS,
        connect_ms: u32::from(with),
        first_byte_ms: u32::from(more >> 4) * LIMIT_MS,
        idle_ms: u32::from(with >> 4) * LIMIT_MS,
    }
}

pub(super) fn new_engine(policy: u32, trust: u32) -> (cm_status, u64) {
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

/// Returns a URL that is answered, or one that is not.
pub(super) fn url(with: u8) -> &'static str {
    let (live, which) = (&SERVER.urls, usize::from(with & 15));
    DEAD.get(which)
        .copied()
        .unwrap_or_else(|| &live[(which - DEAD.len()) % live.len()])
}

pub(super) fn network(with: u8) -> cm_network {
    cm_network {
        id: [with; 16],
        metered: u32::from(with & 1),
        kind: u32::from(with % 5),
    }
}

pub(super) fn switches(with: u8, more: u8) -> cm_switches {
    cm_switches {
        generation: u32::from(with),
        engine: u32::from(more & 1),
        h3_percent: u32::from(with),
        explore: u32::from(more & 2),
    }
}

pub(super) fn bytes(text: &str) -> cm_bytes {
    cm_bytes {
        ptr: text.as_ptr(),
        len: text.len(),
    }
}
