//! What one call leaves behind while it runs, whole or cut off.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use driver::protocol::{CallError, ErrorKind, Row};
use wire::Message;

use crate::clock::now_ns;
use crate::received::Received;

/// The row of a call in the making. Clones are the same call.
///
/// It is shared because several hands fill it: the call itself, the connection's task
/// (request sent), a QUIC handshake that ends after its early data was answered.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Call>>);

#[derive(Default)]
struct Call {
    row: Row,
    body: Received,
    /// Of an exchange: the message sent and the one that came back.
    messages: Option<(Arc<Message>, Message)>,
}

/// The moments a trace can be stamped with.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The application asks for the call.
    Start,
    /// The message is made.
    Created,
    /// The message is encoded.
    Encoded,
    /// The name is resolved.
    Dns,
    /// TCP is connected.
    Connect,
    /// The handshake is done.
    Tls,
    /// The request is handed over whole.
    RequestSent,
    /// The response's head is here.
    FirstByte,
    /// The last byte of the response's body is here.
    Received,
    /// The call is over.
    End,
}

impl Trace {
    /// For the call of step `id`.
    pub fn new(id: u32) -> Self {
        let trace = Self::default();
        trace.edit(|row| row.id = id);
        trace
    }

    /// Stamps `phase` with the time it is now.
    pub fn stamp(&self, phase: Phase) {
        let now = now_ns();
        self.edit(|row| match phase {
            Phase::Start => row.start_ns = now,
            Phase::Created => row.created_ns = Some(now),
            Phase::Encoded => row.encoded_ns = Some(now),
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

    /// Takes a piece of the response's body.
    pub fn receive(&self, chunk: Bytes) {
        let mut call = self.lock();
        call.row.response_bytes += chunk.len() as u64;
        call.body.push(chunk);
    }

    /// The response's body as far as it is here.
    pub fn body(&self) -> Bytes {
        self.lock().body.whole()
    }

    /// Two messages that must be equal; it is seen to when the call is finished, for it takes
    /// time.
    pub fn compare_later(&self, sent: Arc<Message>, received: Message) {
        self.lock().messages = Some((sent, received));
    }

    /// The row as it stands, the body digested if its head had arrived, messages compared.
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
        // A panic under this lock leaves plain data, whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
