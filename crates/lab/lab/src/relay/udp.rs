//! Relays datagrams, with a socket for each client's address.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UdpSocket;

use super::{MAX_FLOWS, is_transient, lock};

const MAX_DATAGRAM_BYTES: usize = 65_535;
/// RFC 4787 REQ-5 requires NATs to keep a mapping for at least two minutes.
const UDP_IDLE_LIMIT: Duration = Duration::from_secs(120);

pub(super) async fn relay_udp(far: std::net::UdpSocket, to: SocketAddr) -> io::Result<Infallible> {
    far.set_nonblocking(true)?;
    let far = Arc::new(UdpSocket::from_std(far)?);
    let flows: Flows = Arc::default();
    let mut datagram = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        let (len, client) = match far.recv_from(&mut datagram).await {
            Ok(received) => received,
            Err(e) if is_transient(&e) => continue,
            Err(e) => return Err(e),
        };
        let known = lock(&flows).get(&client).cloned();
        let near = match known {
            Some(near) => near,
            None if lock(&flows).len() >= MAX_FLOWS => continue,
            None => {
                // Without a socket the datagram is lost, and the next one tries again.
                let Ok(near) = connect_udp(to).await else {
                    continue;
                };
                let near = Arc::new(near);
                lock(&flows).insert(client, Arc::clone(&near));
                let back = (Arc::clone(&near), Arc::clone(&far), Arc::clone(&flows));
                tokio::spawn(async move {
                    relay_replies(&back.0, &back.1, client).await;
                    lock(&back.2).remove(&client);
                });
                near
            }
        };
        // A datagram that cannot be sent is lost, as on any network.
        drop(near.send(&datagram[..len]).await);
    }
}

async fn connect_udp(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = if to.is_ipv4() {
        (std::net::Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (std::net::Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let near = UdpSocket::bind(any).await?;
    near.connect(to).await?;
    Ok(near)
}

/// The host's socket of each flow, by the client's address.
type Flows = Arc<Mutex<HashMap<SocketAddr, Arc<UdpSocket>>>>;

/// Relays replies to the client until the flow has been idle for [`UDP_IDLE_LIMIT`].
async fn relay_replies(near: &UdpSocket, far: &UdpSocket, client: SocketAddr) {
    let mut datagram = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        match tokio::time::timeout(UDP_IDLE_LIMIT, near.recv(&mut datagram)).await {
            Ok(Ok(len)) => {
                drop(far.send_to(&datagram[..len], client).await);
            }
            Ok(Err(e)) if is_transient(&e) => {}
            _ => return,
        }
    }
}
