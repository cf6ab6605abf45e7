//! Random bytes in place of QUIC.

use std::sync::Arc;
use std::time::Duration;

use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::UdpSocket;

use crate::shared::Shared;

/// More than any datagram of a client that does not know the path's MTU; the rest is cut off.
const MAX_DATAGRAM: usize = 2048;
/// The pause after a socket call has failed.
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Answers each datagram with as many random bytes, until the server drains. It sends no more than
/// it got, so it amplifies nothing that was sent under a forged address.
pub(crate) async fn run(socket: UdpSocket, shared: Arc<Shared>) {
    let random = SystemRandom::new();
    let mut datagram = [0; MAX_DATAGRAM];
    let answer = async {
        loop {
            let answered = match socket.recv_from(&mut datagram).await {
                Ok((length, peer)) if random.fill(&mut datagram[..length]).is_ok() => {
                    socket.send_to(&datagram[..length], peer).await.is_ok()
                }
                _ => false,
            };
            if !answered {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    };
    shared.draining.run_until_cancelled(answer).await;
}
