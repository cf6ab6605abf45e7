//! The types of the C interface.
#![allow(non_camel_case_types, reason = "these are C's names")]

/// An engine. 0 is none. Ids are never used twice in a process, so an old one is an error.
pub type cm_engine = u64;

/// A call: a request and its response. 0 is none.
pub type cm_call = u64;

/// Bytes that the callee reads only before it returns. `ptr` may be null if `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_bytes {
    /// The first byte.
    pub ptr: *const u8,
    /// How many.
    pub len: usize,
}

/// A name and its value, e.g. a header field.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_field {
    /// The name.
    pub name: cm_bytes,
    /// The value.
    pub value: cm_bytes,
}

/// The outcome of a function or a call.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_status {
    /// Done.
    CM_OK = 0,
    /// Nothing now; an event will say when to ask again.
    CM_AGAIN = 1,
    /// There is no more.
    CM_END = 2,
    /// An argument is null, out of range, or no URL or header.
    CM_E_ARGUMENT = -1,
    /// The engine was closed, or never was.
    CM_E_CLOSED = -2,
    /// No such call: released, of another engine, or never was.
    CM_E_NO_CALL = -3,
    /// The buffer is too small; the length says what it takes.
    CM_E_ROOM = -4,
    /// More calls at a time than are kept (16,384).
    CM_E_TOO_MANY = -5,
    /// The platform gave no thread, socket or random numbers.
    CM_E_PLATFORM = -6,
    /// The engine was made before fork(2) and belongs to the parent process. Make another one.
    CM_E_FORKED = -7,
    /// This thread took a certificate chain and has not answered it, and the engine waits for the answer. Call
    /// `cm_answer_chain` first.
    CM_E_CHAIN_WAITS = -8,
    /// The name could not be resolved.
    CM_E_NAME = -10,
    /// No connection.
    CM_E_CONNECT = -11,
    /// The TLS handshake failed.
    CM_E_TLS = -12,
    /// The certificate was refused.
    CM_E_CERTIFICATE = -13,
    /// A time limit passed; `CM_TEXT_ERROR` names the phase.
    CM_E_TIMEOUT = -14,
    /// The connection broke or the request was reset.
    CM_E_RESET = -15,
    /// The peer broke the protocol.
    CM_E_PROTOCOL = -16,
    /// Cancelled by `cm_cancel`.
    CM_E_CANCELLED = -17,
    /// The device has no network.
    CM_E_OFFLINE = -18,
    /// The engine is switched off, or turned itself off (`cm_worked_without`): the app's own client may take
    /// the request.
    CM_E_PLAIN = -19,
    /// A bug: something panicked in this engine, which is of no more use. Close it.
    CM_E_PANIC = -90,
}

/// How requests are routed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_policy {
    /// By what was learnt.
    CM_POLICY_ADAPTIVE = 0,
    /// By races alone.
    CM_POLICY_RACE = 1,
    /// HTTP/3 only.
    CM_POLICY_H3 = 2,
    /// TCP only.
    CM_POLICY_TCP = 3,
    /// HTTP/1.1 only.
    CM_POLICY_H1 = 4,
}

/// Whose certificates are accepted.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_trust {
    /// Those of the authorities that Mozilla trusts.
    CM_TRUST_WEBPKI = 0,
    /// Those of `roots_pem`.
    CM_TRUST_ROOTS = 1,
    /// Those that the app accepts: it answers `CM_EVENT_CHECK_CHAIN`.
    CM_TRUST_APP = 2,
}

/// What an engine is made of. All zeros is a valid one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_config {
    /// A `cm_policy`.
    pub policy: u32,
    /// A `cm_trust`.
    pub trust: u32,
    /// Authorities, as PEM.
    pub roots_pem: cm_bytes,
    /// The client's certificate chain as PEM, its own first. Empty: none is shown.
    pub identity_chain_pem: cm_bytes,
    /// Its key, as PEM.
    pub identity_key_pem: cm_bytes,
    /// Folder for what is learnt, in UTF-8. Empty: it is forgotten when the engine is closed.
    pub memory_folder: cm_bytes,
    /// URLs whose origins support HTTP/3.
    pub h3_hints: *const cm_bytes,
    /// How many.
    pub h3_hint_count: usize,
    /// Addresses for names that are not looked up: a host name, an IP address. A name may repeat.
    pub addresses: *const cm_field,
    /// How many.
    pub address_count: usize,
    /// 1 if GET, HEAD and OPTIONS requests without a body may be sent before the handshake is done (0-RTT). That needs
    /// a session that is resumed over QUIC. An attacker on the path may replay such a request (RFC 8470). Has no effect
    /// with `CM_TRUST_APP`: the app is asked after the handshake.
    pub early_data: u32,
    /// How long the app may take to answer `CM_EVENT_CHECK_CHAIN`; then the chain is refused.
    /// Meanwhile no other call of the engine proceeds. 0: 10 s.
    pub check_chain_ms: u32,
}

/// Properties of a request.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_flags {
    /// The body is written with `cm_write` and `cm_finish`; `cm_request.body` is empty.
    CM_STREAMED = 1,
    /// It may be sent twice, although its method does not say so (RFC 9110 section 9.2.2).
    CM_REPLAYABLE = 2,
    /// It is never taken to learn from.
    CM_URGENT = 4,
    /// It may be sent before the handshake is done, as with `cm_config.early_data`.
    CM_EARLY_DATA = 8,
    /// It may not, whatever `cm_config.early_data` says.
    CM_NO_EARLY_DATA = 16,
    /// The engine never sends it again by itself, which it does otherwise where that is safe.
    CM_NO_RESENDS = 32,
}

/// A request.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_request {
    /// E.g. `GET`.
    pub method: cm_bytes,
    /// An `https` URL.
    pub url: cm_bytes,
    /// Header fields.
    pub headers: *const cm_field,
    /// How many.
    pub header_count: usize,
    /// The body.
    pub body: cm_bytes,
    /// The length of a streamed body in bytes; -1 if it is not known.
    pub streamed_bytes: i64,
    /// About how many bytes the response has; 0 if it is not known.
    pub expect_bytes: u64,
    /// Requests with the same label are compared with each other to learn which transport is
    /// faster. Empty: those with the same method and about the same size are.
    pub label: cm_bytes,
    /// Any of `cm_flags`, added up.
    pub flags: u32,
    /// The time until the response is complete. 0: no limit; likewise in those that follow.
    pub limit_ms: u32,
    /// The time until there is a connection, all attempts together. If it fails, the wait for the next is limited, too.
    pub connect_ms: u32,
    /// The time until the head of the response is there, including that for a connection.
    pub first_byte_ms: u32,
    /// The time between two pieces of the response's body.
    pub idle_ms: u32,
}

/// The kinds of events.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_event_kind {
    /// The head of a response is there; `number` is its status.
    CM_EVENT_HEAD = 1,
    /// `cm_read` has something to read. Comes again only after `cm_read` returned `CM_AGAIN`.
    CM_EVENT_READABLE = 2,
    /// `cm_write` has room. Comes only after `cm_write` returned `CM_AGAIN`.
    CM_EVENT_WRITABLE = 3,
    /// The call has ended with `status`, and this is its last event. What was received can still
    /// be read. If `status` is an error, `number` is 1 if the server may have acted on the request.
    CM_EVENT_DONE = 4,
    /// A server's certificate chain waits for `cm_answer_chain`; `number` names it, and `call` is
    /// 0. Comes in every handshake, with the chain of the session if one is resumed.
    CM_EVENT_CHECK_CHAIN = 5,
}

/// What happened.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct cm_event {
    /// What.
    pub kind: cm_event_kind,
    /// For `CM_EVENT_DONE`.
    pub status: cm_status,
    /// The call that it happened to.
    pub call: cm_call,
    /// What `cm_submit` or `cm_connect` was given for this call. An event may come before they return.
    pub user: u64,
    /// By kind.
    pub number: u64,
}

/// The texts of a call, each in lines `name: value\r\n`, but for the last.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_text {
    /// The header fields of the response, from `CM_EVENT_HEAD` on.
    CM_TEXT_HEADERS = 1,
    /// The trailer fields, once `cm_read` returned `CM_END`.
    CM_TEXT_TRAILERS = 2,
    /// How the response came, or how far the call got, once the request was sent. The names are `protocol` (`http/1.1`,
    /// `h2`, `h3`), `why` (a word), `because` (a sentence), `connection`, `reused`, `resumed`, `early-data`,
    /// `attempts`, `local-port`; `dns-ns`, `connect-ns`, `tls-ns`, `sent-ns` and `head-ns` after the call was
    /// submitted, as far as these happened for it; `age-ns` since it was submitted, always in 20 digits, so that the
    /// caller's clock can tell when that was.
    CM_TEXT_REPORT = 3,
    /// Why the call failed, as a sentence, from `CM_EVENT_DONE` on.
    CM_TEXT_ERROR = 4,
}

/// What metrics compare.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_arms {
    /// HTTP/3, HTTP/2 and HTTP/1.1.
    CM_ARMS_PROTOCOLS = 0,
    /// Installations with HTTP/3 on and those with HTTP/3 off.
    CM_ARMS_ROLLOUT = 1,
}

/// What a network is, for metrics; nothing is decided by it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum cm_network_kind {
    /// Not known, or none of the others.
    CM_NETWORK_OTHER = 0,
    /// Wi-Fi.
    CM_NETWORK_WIFI = 1,
    /// 2G to 5G.
    CM_NETWORK_CELLULAR = 2,
    /// A cable.
    CM_NETWORK_ETHERNET = 3,
}

/// A network that the device uses by default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_network {
    /// Distinguishes networks, e.g. a digest of operator or gateway.
    pub id: [u8; 16],
    /// 1 if data costs money there: nothing is opened just to learn.
    pub metered: u32,
    /// A `cm_network_kind`.
    pub kind: u32,
}

/// What the app allows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cm_switches {
    /// Older switches do not replace newer ones.
    pub generation: u32,
    /// 0 if the engine takes no request: calls end with `CM_E_PLAIN`.
    pub engine: u32,
    /// HTTP/3 is used by this percentage of installations.
    pub h3_percent: u32,
    /// 0 if nothing is sent or opened just to learn.
    pub explore: u32,
}
