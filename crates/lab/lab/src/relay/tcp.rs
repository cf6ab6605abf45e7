//! Proxies TCP, connection by connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::tcp_congestion;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::client_hello::offered;
use super::{Accepted, CONNECT_LIMIT, Connections, MAX_FLOWS, is_transient, lock};

/// Bytes buffered per direction of a TCP flow.
pub(super) const BUFFER_BYTES: usize = 64 << 10;
/// How many connections are noted: more than a cell opens, one per request at most.
pub(super) const MAX_NOTED: usize = 8192;
/// How long to wait for a descriptor when there is none left.
const RETRY_AFTER: Duration = Duration::from_millis(10);

pub(super) async fn relay_tcp(
    listener: std::net::TcpListener,
    to: SocketAddr,
    accepted: Option<Connections>,
) -> io::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let slots = Arc::new(Semaphore::new(MAX_FLOWS));
    loop {
        let slot = Arc::clone(&slots)
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((far, client)) => {
                let accepted = accepted.clone();
                tokio::spawn(async move {
                    relay_connection(far, client, to, accepted).await;
                    drop(slot);
                });
            }
            Err(e) if is_transient(&e) => {}
            Err(e) if is_exhausted(&e) => tokio::time::sleep(RETRY_AFTER).await,
            Err(e) => return Err(e),
        }
    }
}

async fn relay_connection(
    far: TcpStream,
    client: SocketAddr,
    to: SocketAddr,
    accepted: Option<Connections>,
) {
    let noting = async {
        if let Some(accepted) = accepted {
            note(&far, client, &accepted).await;
        }
    };
    let (near, ()) = tokio::join!(connect(to), noting);
    match near {
        Some(near) => relay_flow(far, near).await,
        None => close_with_reset([far]),
    }
}

/// Records the protocols that a connection offers, and the congestion control of its socket.
async fn note(far: &TcpStream, client: SocketAddr, accepted: &Connections) {
    let Some(protocols) = offered(far).await else {
        return;
    };
    let connection = Accepted {
        port: client.port(),
        protocols,
        congestion: tcp_congestion(far).ok(),
    };
    let mut noted = lock(accepted);
    if noted.len() < MAX_NOTED {
        noted.push(connection);
    }
}

async fn connect(to: SocketAddr) -> Option<TcpStream> {
    let connected = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(to)).await;
    connected.ok()?.ok()
}

async fn relay_flow(mut far: TcpStream, mut near: TcpStream) {
    // Either end may write a request in two pieces, and the relay must not delay the second.
    let nodelay = far.set_nodelay(true).and_then(|()| near.set_nodelay(true));
    let relayed =
        tokio::io::copy_bidirectional_with_sizes(&mut far, &mut near, BUFFER_BYTES, BUFFER_BYTES)
            .await;
    if nodelay.is_err() || relayed.is_err() {
        // A reset on one side must become a reset on the other, never an orderly close.
        close_with_reset([far, near]);
    }
}

/// Closes streams with RST (SO_LINGER of zero, tcp(7)).
fn close_with_reset<const N: usize>(streams: [TcpStream; N]) {
    for stream in streams {
        // An error means that it is closed already.
        stream.set_zero_linger().ok();
    }
}

/// Returns whether the process or the machine is out of descriptors or memory, which may pass.
fn is_exhausted(e: &io::Error) -> bool {
    let exhausted = [
        rustix::io::Errno::MFILE,
        rustix::io::Errno::NFILE,
        rustix::io::Errno::NOBUFS,
        rustix::io::Errno::NOMEM,
    ];
    exhausted
        .iter()
        .any(|errno| e.raw_os_error() == Some(errno.raw_os_error()))
}
