//! Connections: opened over QUIC or TCP, and one request and response at a time on them.

mod exchange;
mod frames;
mod h1;
mod h2;
mod h3;
mod load;
mod tcp;

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt;
use route::{ConnId, Fault, Origin, PathSample, Protocol, Replay, Transport};
use tokio::sync::{mpsc, watch};

use crate::message::{Event, Message};
use crate::tls::Tls;

pub(crate) use exchange::Exchange;
use exchange::{DrainReason, Failure, InterimCounter, TCP_PIECES, cut_off};
pub(crate) use load::ConnLoad;

/// Longest head of a response, in bytes of its fields; OkHttp's limit.
const MAX_HEAD_BYTES: u32 = 256 << 10;
/// Most fields of a head, over HTTP/1.1 only: h2 and h3 do not count them.
const MAX_FIELDS: usize = 1_024;
/// What a server may send of one body before the app reads it. quinn-proto gives a connection up whose stream has more
/// than 1024 gaps; a window of 2 MiB has no more packets.
const STREAM_WINDOW: u32 = 2 << 20;
/// The same of all bodies on a connection.
const CONN_WINDOW: u32 = 32 << 20;
/// So many bodies that the app does not read leave a window's worth for another one.
const MAX_UNREAD: usize = (CONN_WINDOW / STREAM_WINDOW) as usize - 1;

/// An open connection.
pub(crate) enum Conn {
    H3(h3::Conn),
    Tcp(tcp::Conn),
}

/// An open connection with facts of its handshake.
pub(crate) struct Opened {
    pub(crate) conn: Conn,
    pub(crate) local_port: u16,
    pub(crate) resumed: bool,
    /// When its handshake was done; nothing if it is not.
    pub(crate) tls: Option<Instant>,
    /// Whether the server took early data, with the sender that announces it once the connection is reported.
    pub(crate) early_taken: Option<(watch::Sender<Option<bool>>, bool)>,
}

/// Where to open a connection, and the channel for its messages.
pub(crate) struct Target {
    pub(crate) id: ConnId,
    pub(crate) origin: Origin,
    pub(crate) address: SocketAddr,
    pub(crate) over: Transport,
    /// Whether HTTP/2 must not be offered.
    pub(crate) http1: bool,
    /// Whether to resume a session with early data, if there is one.
    pub(crate) early: bool,
    pub(crate) messages: mpsc::UnboundedSender<Message>,
}

impl Conn {
    pub(crate) fn protocol(&self) -> Protocol {
        match self {
            Self::H3(_) => Protocol::H3,
            Self::Tcp(conn) => conn.protocol(),
        }
    }

    /// Reports whether the connection uses TLS 1.3, and returns the server's certificates in DER.
    pub(crate) fn security(&self) -> (bool, Vec<Vec<u8>>) {
        match self {
            Self::H3(conn) => (true, conn.chain()),
            Self::Tcp(conn) => conn.security(),
        }
    }

    /// Reports whether it can carry another request now: its server's limit and the window that unread bodies leave
    /// allow that.
    pub(crate) fn has_room(&self, load: &ConnLoad) -> bool {
        let has_room = || {
            load.unread() < MAX_UNREAD
                && match self {
                    Self::H3(conn) => conn.has_credit(),
                    Self::Tcp(conn) => load.requests() < conn.limit(),
                }
        };
        if has_room() {
            return true;
        }
        // Room that is made before this check is seen now; room that is made after it causes an event.
        load.turn_away();
        has_room()
    }

    /// Starts an exchange as a task of its own, which reports what happens.
    pub(crate) fn start(&self, exchange: Exchange) -> tokio::task::AbortHandle {
        let panicked = Event::Failed {
            call: exchange.call,
            conn: exchange.conn,
            fault: Fault::Protocol,
            replay: Replay::MayHaveActed,
        };
        let messages = exchange.messages.clone();
        let task = match self {
            Self::H3(conn) => tokio::spawn(or_report(conn.exchange(exchange), messages, panicked)),
            Self::Tcp(conn) => tokio::spawn(or_report(conn.exchange(exchange), messages, panicked)),
        };
        task.abort_handle()
    }

    pub(crate) fn sample(&mut self) -> PathSample {
        match self {
            Self::H3(conn) => conn.sample(),
            Self::Tcp(conn) => conn.sample(),
        }
    }

    /// Sends something that the peer must acknowledge.
    pub(crate) fn probe(&mut self) {
        match self {
            Self::H3(conn) => conn.probe(),
            Self::Tcp(conn) => conn.probe(),
        }
    }

    /// Sends from a new port.
    pub(crate) fn nudge(&mut self) {
        if let Self::H3(conn) = self {
            conn.nudge();
        }
    }

    /// Reports whether it may move to another path (RFC 9000 section 9).
    pub(crate) fn migrates(&self) -> bool {
        match self {
            Self::H3(conn) => conn.migrates(),
            Self::Tcp(_) => false,
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::H3(conn) => conn.close(),
            Self::Tcp(conn) => conn.close(),
        }
    }
}

/// Runs a task, and reports if it panics. Otherwise other tasks would wait for it for ever.
async fn or_report(
    task: impl Future<Output = ()>,
    messages: mpsc::UnboundedSender<Message>,
    panicked: Event,
) {
    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
        messages.send(Message::Event(panicked)).ok();
    }
}

/// Opens a connection and reports its progress, and later its end.
pub(crate) async fn open(target: Target, tls: Tls) {
    let panicked = Event::Closed {
        conn: target.id,
        fault: Fault::Handshake,
    };
    let messages = target.messages.clone();
    or_report(open_and_report(target, tls), messages, panicked).await;
}

async fn open_and_report(target: Target, tls: Tls) {
    let (id, messages) = (target.id, target.messages.clone());
    let opened = match target.over {
        Transport::Quic => h3::open(target, &tls).await,
        Transport::Tcp => tcp::open(target, &tls).await,
    };
    let (event, early) = match opened {
        Ok(mut opened) => {
            let early = opened.early_taken.take();
            let opened = Box::new(opened);
            (Event::Opened { conn: id, opened }, early)
        }
        Err(fault) => (Event::Closed { conn: id, fault }, None),
    };
    messages.send(Message::Event(event)).ok();
    if let Some((announce, taken)) = early {
        announce.send_replace(Some(taken));
    }
}
