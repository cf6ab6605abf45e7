//! QUIC that completes handshakes, accepts requests, and then says nothing any more.
//!
//! quinn acknowledges all that arrives, so that a server which merely does not answer is alive to its client. Silence
//! is made below quinn: its socket drops what it would send.

use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// Set in packets with a long header, which make a handshake (RFC 9000 section 17.2).
const LONG_HEADER: u8 = 0x80;

/// The clients that a port still answers; clones share it.
///
/// A datagram that begins with a long header is always sent, so that any handshake succeeds. Others
/// are sent only to an address that a connection was opened from and that has made no request yet.
/// Nothing else follows the handshake of a later connection from an address that has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stall(Arc<Mutex<HashMap<SocketAddr, Client>>>);

#[derive(Debug, Default)]
struct Client {
    connections: usize,
    is_silent: bool,
}

/// A connection of a port that stalls, until dropped.
pub(crate) struct StallingConnection {
    stall: Stall,
    address: SocketAddr,
}

impl Stall {
    /// Returns a socket that drops what stalled clients must not hear.
    pub(crate) fn over(&self, socket: Arc<dyn AsyncUdpSocket>) -> Arc<dyn AsyncUdpSocket> {
        Arc::new(StallingSocket {
            socket,
            stall: self.clone(),
        })
    }

    /// Counts a connection from this address.
    pub(crate) fn connection(&self, address: SocketAddr) -> StallingConnection {
        self.clients().entry(address).or_default().connections += 1;
        StallingConnection {
            stall: self.clone(),
            address,
        }
    }

    fn is_sent(&self, to: SocketAddr, datagram: &[u8]) -> bool {
        let is_handshake = datagram.first().is_some_and(|byte| byte & LONG_HEADER != 0);
        is_handshake || (self.clients().get(&to)).is_some_and(|client| !client.is_silent)
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<SocketAddr, Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StallingConnection {
    /// Lets nothing but handshakes through to its address any more.
    pub(crate) fn fall_silent(&self) {
        if let Some(client) = self.stall.clients().get_mut(&self.address) {
            client.is_silent = true;
        }
    }
}

impl Drop for StallingConnection {
    fn drop(&mut self) {
        let mut clients = self.stall.clients();
        if let Some(client) = clients.get_mut(&self.address) {
            client.connections -= 1;
            if client.connections == 0 {
                clients.remove(&self.address);
            }
        }
    }
}

/// Takes datagrams one at a time, the default of the trait: a batch may hold several headers.
#[derive(Debug)]
struct StallingSocket {
    socket: Arc<dyn AsyncUdpSocket>,
    stall: Stall,
}

impl AsyncUdpSocket for StallingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.stall.is_sent(transmit.destination, transmit.contents) {
            true => self.socket.try_send(transmit),
            false => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}
