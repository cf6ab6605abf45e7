//! Stream credit: whether the server allows another request stream (RFC 9000 section 4.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use h3_quic::Reserve;
use route::ConnId;
use tokio::sync::mpsc;

use crate::message::{Event, Message};

/// The stream credit of one connection.
pub(super) struct StreamCredit(Arc<State>);

/// Counts a request that has not opened its stream.
pub(super) struct OpeningGuard(Arc<State>);

struct State {
    reserve: Reserve,
    conn: ConnId,
    messages: mpsc::UnboundedSender<Message>,
    /// Requests that have not opened their streams.
    opening: AtomicUsize,
    /// Whether a request was turned away since there was last credit.
    is_waiting: AtomicBool,
}

impl StreamCredit {
    pub(super) fn new(
        reserve: Reserve,
        conn: ConnId,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        Self(Arc::new(State {
            reserve,
            conn,
            messages,
            opening: AtomicUsize::default(),
            is_waiting: AtomicBool::default(),
        }))
    }

    /// Counts a request until it has opened its stream.
    pub(super) fn opening(&self) -> OpeningGuard {
        self.0.opening.fetch_add(1, Ordering::Relaxed);
        OpeningGuard(Arc::clone(&self.0))
    }

    /// Reports whether another request would get a stream at once. If not, an event says when that may have changed.
    pub(super) fn allows_another(&self) -> bool {
        let streams = self.0.opening.load(Ordering::Relaxed) + 1;
        let allows = self.0.reserve.fill(streams);
        if !allows && !self.0.is_waiting.swap(true, Ordering::Relaxed) {
            let state = Arc::clone(&self.0);
            tokio::spawn(async move {
                // If the connection ends first, another event says so.
                if state.reserve.grow().await.is_ok() {
                    state.is_waiting.store(false, Ordering::Relaxed);
                    state.has_room();
                }
            });
        }
        allows
    }
}

impl State {
    fn has_room(&self) {
        let room = Event::Room(self.conn);
        self.messages.send(Message::Event(room)).ok();
    }
}

impl Drop for OpeningGuard {
    fn drop(&mut self) {
        self.0.opening.fetch_sub(1, Ordering::Relaxed);
        // A request that ended before it opened its stream leaves the stream in reserve.
        if self.0.is_waiting.load(Ordering::Relaxed) {
            self.0.has_room();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]
mod tests {
    use std::net::Ipv4Addr;

    use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
    use quinn::{Endpoint, TransportConfig, VarInt};

    use super::*;

    /// Connects to a server that allows one request stream. Its endpoint ends the connection when it is dropped.
    async fn one_stream() -> (quinn::Connection, Endpoint) {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let chain = vec![own.cert.der().clone()];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = &[&rustls::version::TLS13];
        let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider));
        let server = server.with_protocol_versions(versions).unwrap();
        let server = server
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key.into());
        let server = Arc::new(QuicServerConfig::try_from(server.unwrap()).unwrap());
        let mut server = quinn::ServerConfig::with_crypto(server);
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
        server.transport_config(Arc::new(transport));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(chain[0].clone()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(provider);
        let client = client.with_protocol_versions(versions).unwrap();
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let client = Arc::new(QuicClientConfig::try_from(client).unwrap());
        let client = quinn::ClientConfig::new(client);

        let loopback = (Ipv4Addr::LOCALHOST, 0).into();
        let server = Endpoint::server(server, loopback).unwrap();
        let address = server.local_addr().unwrap();
        let accepting = server.clone();
        tokio::spawn(async move {
            let connection = accepting.accept().await.unwrap().await.unwrap();
            connection.closed().await;
        });
        let connecting = Endpoint::client(loopback).unwrap();
        let connecting = connecting.connect_with(client, address, "localhost");
        (connecting.unwrap().await.unwrap(), server)
    }

    #[tokio::test]
    async fn a_request_that_ends_before_it_has_a_stream_leaves_it_to_others() {
        let (quic, _server) = one_stream().await;
        let reserve = h3_quic::Connection::new(quic).reserve();
        let (messages, mut events) = mpsc::unbounded_channel();
        let credit = StreamCredit::new(reserve, ConnId(1), messages);
        let opening = credit.opening();
        assert!(!credit.allows_another());
        assert!(events.is_empty());
        drop(opening);
        let room = events.recv().await;
        assert!(matches!(room, Some(Message::Event(Event::Room(ConnId(1))))));
        assert!(credit.allows_another());
    }
}
