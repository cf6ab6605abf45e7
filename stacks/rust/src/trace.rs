//! What one call leaves behind while it runs, whole or cut off.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use driver::protocol::Row;

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
}

/// The moments a trace can be stamped with.
#[derive(Clone, Copy, Debug)]
pub enum Phase {
    /// The application asks for the call.
    Start,
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
            Phase::Dns => row.dns_ns = Some(now),
            Phase::Connect => row.connect_ns = Some(now),
            Phase::Tls => row.tls_ns = Some(now),
            Phase::RequestSent => row.request_sent_ns = Some(now),
            Phase::FirstByte => row.first_byte_ns = Some(now),
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

    /// The row as it stands, the body digested if its head had arrived.
    pub fn finish(&self) -> Row {
        let mut call = self.lock();
        let body = std::mem::take(&mut call.body);
        let mut row = std::mem::take(&mut call.row);
        if row.first_byte_ns.is_some() {
            row.digest = Some(body.digest());
        }
        row
    }

    fn lock(&self) -> MutexGuard<'_, Call> {
        // A panic under this lock leaves plain data, whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
