//! What the connections of a server have in common, over any version of HTTP.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::script::{Field, Script};

/// A request that was read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// The method.
    pub method: String,
    /// The target.
    pub path: String,
    /// The fields, with pseudo-fields, in order.
    pub fields: Vec<Field>,
    /// The body.
    pub body: Vec<u8>,
}

/// What a server may be asked to do otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The most requests at a time on a connection (HTTP/2 and HTTP/3).
    pub max_streams: Option<u32>,
    /// Whether HTTP/1.1 is offered, too (HTTP/2 only).
    pub offers_h1: bool,
    /// Whether PING is left without an answer (HTTP/2 only).
    pub ignores_pings: bool,
    /// Whether the client must stay on its path (HTTP/3 only; RFC 9000 section 18.2).
    pub forbids_migration: bool,
}

type Choose = dyn Fn(&Request, usize) -> Script + Send + Sync;

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) choose: Box<Choose>,
    pub(crate) options: Options,
    pub(crate) arrivals: Mutex<HashMap<String, Vec<Request>>>,
    pub(crate) connections: AtomicUsize,
}

impl Shared {
    /// Returns the number of a new connection.
    pub(crate) fn connection(&self) -> usize {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts a request, and returns its script.
    pub(crate) fn script(&self, request: &Request) -> Script {
        let nth = {
            let mut arrivals = self.arrivals();
            let of_path = arrivals.entry(request.path.clone()).or_default();
            of_path.push(request.clone());
            of_path.len() - 1
        };
        (self.choose)(request, nth)
    }

    pub(crate) fn arrivals(&self) -> std::sync::MutexGuard<'_, HashMap<String, Vec<Request>>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
