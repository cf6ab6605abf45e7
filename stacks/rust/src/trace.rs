//! The row of a call while the call runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use driver::clock::monotonic_ns;
use driver::protocol::{CallError, ErrorKind, Row};
use messages::Message;

use crate::response_body::ResponseBody;

/// The row of a call while the call runs. Clones refer to the same call.
///
/// It is shared because several tasks add to it: the call itself, the connection's task (request
/// sent), and a QUIC handshake that completes after its early data was answered.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Call>>);

#[derive(Default)]
struct Call {
    row: Row,
    body: ResponseBody,
    /// In an exchange: the message sent and the one received.
    messages: Option<(Arc<Message>, Message)>,
}

/// The events whose times a row has.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The application starts the call.
    Start,
    /// The message is made.
    Created,
    /// The message is encoded.
    Encoded,
    /// The request is signed.
    Signed,
    /// The name is resolved.
    Dns,
    /// TCP is connected.
    Connect,
    /// The TLS or QUIC handshake is complete.
    Tls,
    /// The whole request has been handed to the transport.
    RequestSent,
    /// The response's head has arrived.
    FirstByte,
    /// The last byte of the response's body has arrived.
    Received,
    /// The call has ended.
    End,
}

impl Trace {
    /// Creates the row of step `id`.
    pub fn new(id: u32) -> Self {
        let trace = Self::default();
        trace.edit(|row| (row.id, row.resumed) = (id, Some(false)));
        trace
    }

    /// Records the current time as that of `phase`.
    pub fn stamp(&self, phase: Phase) {
        let now = monotonic_ns();
        self.edit(|row| match phase {
            Phase::Start => row.start_ns = now,
            Phase::Created => row.created_ns = Some(now),
            Phase::Encoded => row.encoded_ns = Some(now),
            Phase::Signed => row.signed_ns = Some(now),
            Phase::Dns => row.dns_ns = Some(now),
            Phase::Connect => row.connect_ns = Some(now),
            Phase::Tls => row.tls_ns = Some(now),
            Phase::RequestSent => row.request_sent_ns = Some(now),
            Phase::FirstByte => row.first_byte_ns = Some(now),
            Phase::Received => row.received_ns = Some(now),
            Phase::End => row.end_ns = now,
        });
    }

    /// Changes the row.
    pub fn edit(&self, change: impl FnOnce(&mut Row)) {
        change(&mut self.lock().row);
    }

    /// Adds a chunk of the response's body.
    pub fn receive(&self, chunk: Bytes) {
        let mut call = self.lock();
        call.row.response_bytes += chunk.len() as u64;
        call.body.push(chunk);
    }

    /// Keeps all of the response's body, to be decoded.
    pub fn keep_body(&self) {
        self.lock().body.is_kept = true;
    }

    /// Returns the response's body as received so far.
    pub fn body(&self) -> Bytes {
        self.lock().body.bytes()
    }

    /// Keeps two messages that must be equal. They are compared by [`finish`](Self::finish),
    /// outside the timed path.
    pub fn compare_later(&self, sent: Arc<Message>, received: Message) {
        self.lock().messages = Some((sent, received));
    }

    /// Returns the row. Digests the body if its head had arrived, and compares the messages.
    pub fn finish(&self) -> Row {
        let mut call = self.lock();
        let body = std::mem::take(&mut call.body);
        let messages = call.messages.take();
        let mut row = std::mem::take(&mut call.row);
        if row.first_byte_ns.is_some() {
            row.digest = Some(body.digest());
        }
        if messages.is_some_and(|(sent, received)| *sent != received) {
            row.error = Some(CallError {
                kind: ErrorKind::Protocol,
                detail: "the echo differs".into(),
            });
        }
        row
    }

    fn lock(&self) -> MutexGuard<'_, Call> {
        // A panic under this lock leaves plain data in a consistent state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
