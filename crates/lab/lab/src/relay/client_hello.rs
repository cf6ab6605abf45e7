//! Reads which protocols a ClientHello offers, without taking it from the socket.

use std::time::Duration;

use rustls::server::Acceptor;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::CONNECT_LIMIT;

/// The largest ClientHello that is waited for; those with post-quantum key shares have 2 kB.
const MAX_HELLO_BYTES: usize = 16 << 10;
/// How often a part of one is looked at again.
const PEEK_INTERVAL: Duration = Duration::from_micros(200);

/// Returns the protocols that a client's ClientHello offers, without taking it from the socket; none
/// where it sends something else or too little.
pub(super) async fn offered(far: &TcpStream) -> Option<Vec<String>> {
    let mut hello = vec![0; MAX_HELLO_BYTES];
    let (until, mut known) = (Instant::now() + CONNECT_LIMIT, 0);
    while Instant::now() < until && known < hello.len() {
        let length = tokio::time::timeout_at(until, far.peek(&mut hello)).await;
        match length.ok()?.ok()? {
            0 => return None,
            // A part: bytes that are left in the socket do not show when more have come.
            length if length == known => tokio::time::sleep(PEEK_INTERVAL).await,
            length => {
                known = length;
                if let Some(protocols) = alpn(&hello[..length])? {
                    return Some(protocols);
                }
            }
        }
    }
    None
}

/// Returns the protocols that a ClientHello offers, `Some(None)` if there is more to come, and none if
/// this is no ClientHello.
fn alpn(bytes: &[u8]) -> Option<Option<Vec<String>>> {
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        acceptor.read_tls(&mut rest).ok()?;
    }
    let Some(accepted) = acceptor.accept().ok()? else {
        return Some(None);
    };
    let hello = accepted.client_hello();
    let names = hello.alpn().into_iter().flatten();
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    Some(Some(names.collect()))
}
