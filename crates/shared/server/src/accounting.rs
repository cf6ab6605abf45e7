//! Accounts for each request: bytes and digests of both bodies, and its line in the log.
//!
//! [`RequestAccounting`] starts when the request's head has been read. The bodies are wrapped by
//! `body.rs`, which counts and digests what passes. The line is written exactly once, when
//! the response's body is dropped, complete or not.
//!
//! Over gRPC, framing and Protobuf tags are not content, and client libraries do not show them.
//! There the service itself adds the content.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::request;
use messages::Codec;
use server_log::{RequestEvent, ServerEvent};
use sha2::{Digest, Sha256};

use crate::clock::monotonic_ns;
use crate::connection::ConnectionContext;
use crate::head;
use crate::scheme::AuthScheme;

/// The status of a request that was never answered.
const NO_STATUS: u16 = 0;

/// The accounting of one request; clones share it.
#[derive(Clone)]
pub(crate) struct RequestAccounting(Arc<Inner>);

struct Inner {
    connection: ConnectionContext,
    head: Head,
    request: Mutex<ContentDigest>,
    response: Mutex<ContentDigest>,
    codec: OnceLock<CodecTiming>,
    fields_digest: OnceLock<String>,
    auth: OnceLock<AuthScheme>,
    verify_ns: AtomicU64,
    /// When the last byte of the request was read.
    received_ns: AtomicU64,
    responded_ns: OnceLock<u64>,
}

struct Head {
    id: Option<u32>,
    grpc: bool,
    protocol: &'static str,
    method: String,
    path: String,
    authority: Option<String>,
    start_ns: u64,
    early_data: bool,
}

struct CodecTiming {
    codec: Codec,
    decode_ns: u64,
    encode_ns: Option<u64>,
}

#[derive(Clone, Default)]
struct ContentDigest {
    bytes: u64,
    sha: Sha256,
}

impl RequestAccounting {
    pub(crate) fn start(
        connection: &ConnectionContext,
        head: &request::Parts,
        early_data: bool,
    ) -> Self {
        connection.activity.touch();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let start_ns = monotonic_ns();
        Self(Arc::new(Inner {
            connection: connection.clone(),
            head: Head {
                id: head::request_id(&head.headers),
                grpc: head::is_grpc(&head.headers),
                protocol: head::protocol(head),
                method: head.method.to_string(),
                path: path.to_owned(),
                authority: head::authority(head).map(str::to_owned),
                start_ns,
                early_data,
            },
            request: Mutex::default(),
            response: Mutex::default(),
            codec: OnceLock::new(),
            fields_digest: OnceLock::new(),
            auth: OnceLock::new(),
            verify_ns: AtomicU64::new(0),
            received_ns: AtomicU64::new(start_ns),
            responded_ns: OnceLock::new(),
        }))
    }

    /// Returns whether the service adds the content itself.
    pub(crate) fn is_grpc(&self) -> bool {
        self.0.head.grpc
    }

    /// Logs that the request was refused with this code. Over HTTP/1.1, a request has no stream.
    pub(crate) fn log_refused(&self, code: &str, reason: &str) {
        self.0.connection.log_refused(None, code, reason);
    }

    /// Marks the connection as active.
    pub(crate) fn touch(&self) {
        self.0.connection.activity.touch();
    }

    /// Records that data of the request was read, which may be framed.
    pub(crate) fn record_read(&self) {
        self.touch();
        self.0.received_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Records that the response's head goes to the transport.
    pub(crate) fn record_response(&self) {
        self.0.responded_ns.get_or_init(monotonic_ns);
    }

    pub(crate) fn add_received(&self, content: &[u8]) {
        add(&self.0.request, content);
    }

    pub(crate) fn add_sent(&self, content: &[u8]) {
        self.touch();
        add(&self.0.response, content);
    }

    /// Records how long the message of a request took to decode and that of its answer to encode.
    /// A request has one message: later ones are ignored.
    pub(crate) fn record_codec(&self, codec: Codec, decode_ns: u64, encode_ns: Option<u64>) {
        self.0.codec.get_or_init(|| CodecTiming {
            codec,
            decode_ns,
            encode_ns,
        });
    }

    /// Records the digest of header fields of the request, once.
    pub(crate) fn record_fields(&self, digest: String) {
        self.0.fields_digest.get_or_init(|| digest);
    }

    /// Adds time since `start_ns` that the check of the sender took.
    pub(crate) fn add_verify_time(&self, start_ns: u64) {
        let verify_ns = monotonic_ns().saturating_sub(start_ns);
        self.0.verify_ns.fetch_add(verify_ns, Ordering::Relaxed);
    }

    /// Records that all of the request was found genuine.
    pub(crate) fn record_auth(&self, scheme: AuthScheme) {
        self.0.auth.get_or_init(|| scheme);
    }

    /// Writes the log line of a request whose client left before there was an answer.
    pub(crate) fn finish_unanswered(&self) {
        self.finish(NO_STATUS, true);
    }

    /// Writes the log line.
    pub(crate) fn finish(&self, status: u16, broken: bool) {
        let Head {
            id,
            grpc: _,
            protocol,
            method,
            path,
            authority,
            start_ns,
            early_data,
        } = &self.0.head;
        let (request_bytes, request_digest) = total(&self.0.request);
        let (response_bytes, response_digest) = total(&self.0.response);
        let codec = self.0.codec.get();
        let auth = self.0.auth.get();
        let connection = &self.0.connection;
        connection.log.write(ServerEvent::Request(RequestEvent {
            id: *id,
            connection: connection.number,
            protocol: (*protocol).to_owned(),
            method: method.clone(),
            path: path.clone(),
            authority: authority.clone(),
            start_ns: *start_ns,
            received_ns: Some(self.0.received_ns.load(Ordering::Relaxed)),
            responded_ns: self.0.responded_ns.get().copied(),
            end_ns: monotonic_ns(),
            early_data: *early_data,
            request_bytes,
            request_digest,
            response_bytes,
            response_digest,
            status,
            broken,
            codec: codec.map(|timing| timing.codec.to_string()),
            decode_ns: codec.map(|timing| timing.decode_ns),
            encode_ns: codec.and_then(|timing| timing.encode_ns),
            fields_digest: self.0.fields_digest.get().cloned(),
            auth: auth.map(|scheme| scheme.name().to_owned()),
            verify_ns: auth.map(|_| self.0.verify_ns.load(Ordering::Relaxed)),
        }));
    }
}

fn add(digest: &Mutex<ContentDigest>, content: &[u8]) {
    // Uncontended, except between the two directions of one request.
    let mut digest = digest.lock().unwrap_or_else(PoisonError::into_inner);
    digest.bytes += content.len() as u64;
    digest.sha.update(content);
}

fn total(digest: &Mutex<ContentDigest>) -> (u64, String) {
    let digest = digest
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    (digest.bytes, messages::hex(&digest.sha.finalize()))
}
