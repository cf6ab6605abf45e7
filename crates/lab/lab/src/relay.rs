//! A relay: makes a TCP and UDP service that this host can reach reachable at the far end of a bench's
//! link.
//!
//! Sockets stay in the namespace they were created in. One process can thus listen at the far end of a bench and
//! connect on the host, without further privileges. TCP is proxied: the link carries a connection between the client
//! and this relay, and the service sees another one, from this host.
//!
//! Each connection waits for the service by itself; where the service refuses one or does not answer,
//! the client's is reset. A flow holds at most two buffers of [`tcp::BUFFER_BYTES`]; beyond them, TCP's flow
//! control stops the sender.

mod client_hello;
mod tcp;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proof::Accepted;
use pump::{Bench, BenchError, Side, SocketKind};
use tokio::runtime::Runtime;

use tcp::relay_tcp;
use udp::relay_udp;

/// Limit of parallel TCP connections, and of UDP flows.
const MAX_FLOWS: usize = 1024;
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait for the thread of a relay to end.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The connections of a relay, in order of arrival.
type Connections = Arc<Mutex<Vec<Accepted>>>;

/// A running relay; it ends, with every flow, when it is dropped.
#[derive(Debug)]
pub struct Relay {
    /// None once it is being dropped.
    runtime: Option<Runtime>,
    accepted: Connections,
}

/// Sockets at the far end of a bench, for one service.
#[derive(Debug)]
pub struct FarEnd {
    /// Listening TCP sockets, one per address family.
    tcp: Vec<OwnedFd>,
    /// Bound UDP sockets, one per address family.
    udp: Vec<OwnedFd>,
}

impl FarEnd {
    /// Opens this port at both addresses of the far end, for TCP and UDP.
    pub fn open(bench: &mut Bench, port: u16) -> Result<FarEnd, BenchError> {
        let addresses = bench.facts().server.all();
        let mut bind = |kind| -> Result<Vec<OwnedFd>, BenchError> {
            let at = addresses.map(|address| SocketAddr::new(address, port));
            (at.into_iter())
                .map(|at| bench.bind(Side::Server, kind, at))
                .collect()
        };
        Ok(FarEnd {
            tcp: bind(SocketKind::Tcp)?,
            udp: bind(SocketKind::Udp)?,
        })
    }
}

impl Relay {
    /// Starts to relay between each far end and its service.
    pub fn start(services: Vec<(FarEnd, SocketAddr)>) -> io::Result<Relay> {
        Relay::with(services, false)
    }

    /// Starts to relay to a service over TLS, whose clients send first, and notes what they offer.
    /// Nothing is delayed by that: a server has no answer to a part of a ClientHello.
    pub(crate) fn start_watching(far: FarEnd, to: SocketAddr) -> io::Result<Relay> {
        Relay::with(vec![(far, to)], true)
    }

    /// Returns the first [`tcp::MAX_NOTED`] connections over TLS that it has accepted so far, if it watches.
    pub(crate) fn accepted(&self) -> Vec<Accepted> {
        lock(&self.accepted).clone()
    }

    fn with(services: Vec<(FarEnd, SocketAddr)>, watches: bool) -> io::Result<Relay> {
        let accepted = Connections::default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        for (far, to) in services {
            for fd in far.tcp {
                let accepted = watches.then(|| Arc::clone(&accepted));
                runtime.spawn(async move {
                    let Err(e) = relay_tcp(fd.into(), to, accepted).await;
                    tracing::warn!("relay to {to}: {e}");
                });
            }
            for fd in far.udp {
                runtime.spawn(async move {
                    let Err(e) = relay_udp(fd.into(), to).await;
                    tracing::warn!("relay to {to}: {e}");
                });
            }
        }
        Ok(Relay {
            runtime: Some(runtime),
            accepted,
        })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Its tasks only wait for sockets, so that nothing holds this up.
            runtime.shutdown_timeout(END_LIMIT);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether an error concerns one datagram or connection rather than the socket.
fn is_transient(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests;
