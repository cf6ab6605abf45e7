//! Opens connections over QUIC, with early data where a session allows it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::h3::client::Connection;
use bytes::Bytes;
use h3_quic::{GoAway, Reserve};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionError, Endpoint, TransportConfig, VarInt, ZeroRttAccepted};
use route::Fault;

use super::credit::StreamCredit;
use super::early::EarlyData;
use super::handshake::{HandshakeFacts, ObservedConfig};
use super::{Conn, H3_NO_ERROR, Requests, chain, close_fault, is_orderly, unspecified};
use crate::conn::{self, CONN_WINDOW, MAX_HEAD_BYTES, Opened, STREAM_WINDOW, Target};
use crate::message::{Event, Message};
use crate::tls::Tls;

type Driver = Connection<h3_quic::Connection, Bytes>;

/// HTTP/3 on a connection.
struct Started {
    driver: Driver,
    requests: Requests,
    go_away: GoAway,
    reserve: Reserve,
}

pub(crate) async fn open(target: Target, tls: &Tls) -> Result<Opened, Fault> {
    let local_is_v6 = target.address.is_ipv6();
    let endpoint = Endpoint::client(unspecified(local_is_v6)).map_err(|_| Fault::Connect)?;
    let early = if target.early { tls.quic_early() } else { None };
    let goes_early = early.is_some();
    let crypto = QuicClientConfig::try_from(early.unwrap_or_else(|| tls.quic()));
    let crypto = crypto.map_err(|_| Fault::Handshake)?;
    let (crypto, facts) = ObservedConfig::new(crypto, tls.quic_verifier());
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport()));
    let attempt = Attempt {
        began: Instant::now(),
        facts,
        tls,
        endpoint,
        local_is_v6,
        target,
    };
    let host = &attempt.target.origin.host;
    let connecting = (attempt.endpoint).connect_with(config, attempt.target.address, host);
    let mut connecting = connecting.map_err(|_| Fault::Connect)?;
    if goes_early {
        match connecting.into_0rtt() {
            Ok((quic, taken)) => return attempt.go_early(quic, taken).await,
            // There is no session.
            Err(again) => connecting = again,
        }
    }
    if connecting.handshake_data().await.is_ok() {
        attempt.report_first_packet();
    }
    let quic = connecting.await.map_err(|error| attempt.fault(&error))?;
    let resumed = attempt.check_resumed(&quic)?;
    let done = Instant::now();
    let started = start(&quic).await?;
    Ok(Opened {
        conn: attempt.conn(quic, started),
        local_port: attempt.local_port(),
        resumed,
        tls: Some(done),
        early_taken: None,
    })
}

/// An attempt to open a connection.
struct Attempt<'a> {
    began: Instant,
    facts: Arc<HandshakeFacts>,
    tls: &'a Tls,
    endpoint: Endpoint,
    local_is_v6: bool,
    target: Target,
}

impl Attempt<'_> {
    /// Reports a connection that takes requests early, and waits for the end of its handshake.
    async fn go_early(
        self,
        quic: quinn::Connection,
        taken: ZeroRttAccepted,
    ) -> Result<Opened, Fault> {
        let mut started = start(&quic).await?;
        let (early, announce) = EarlyData::new();
        let opened = Opened {
            conn: self.early_conn(&quic, &started, early.clone()),
            local_port: self.local_port(),
            resumed: true,
            tls: None,
            early_taken: None,
        };
        self.report(Event::Early {
            conn: self.target.id,
            opened: Box::new(opened),
        });
        let taken = taken.await;
        let done = Instant::now();
        if let Some(reason) = quic.close_reason() {
            return Err(self.fault(&reason));
        }
        self.report_first_packet();
        let resumed = self.check_resumed(&quic)?;
        if !taken {
            // Streams that were opened early are void, and so is the HTTP/3 session.
            drop(started);
            early.no_streams().await;
            started = start(&quic).await?;
        }
        Ok(Opened {
            conn: self.conn(quic, started),
            local_port: self.local_port(),
            resumed,
            tls: Some(done),
            early_taken: Some((announce, taken)),
        })
    }

    /// Returns why the handshake failed.
    fn fault(&self, error: &ConnectionError) -> Fault {
        if self.facts.is_refused() {
            return Fault::Certificate;
        }
        handshake_fault(error)
    }

    fn report_first_packet(&self) {
        self.report(Event::FirstPacket {
            conn: self.target.id,
            rtt: self.began.elapsed(),
            at: None,
        });
    }

    /// Reports whether the handshake resumed a session. Fails with [`Fault::Certificate`], and closes the connection,
    /// if the app no longer accepts the session's chain.
    fn check_resumed(&self, quic: &quinn::Connection) -> Result<bool, Fault> {
        let resumed = self.facts.is_resumed();
        let host = &self.target.origin.host;
        if resumed && !self.tls.accepts_resumed(&chain(quic), host) {
            quic.close(H3_NO_ERROR, b"");
            return Err(Fault::Certificate);
        }
        Ok(resumed)
    }

    /// Returns the connection, whose end is reported.
    fn conn(&self, quic: quinn::Connection, started: Started) -> conn::Conn {
        self.watch(&quic, started.driver);
        let (conn, messages) = (self.target.id, self.target.messages.clone());
        conn::Conn::H3(Conn {
            quic,
            endpoint: self.endpoint.clone(),
            requests: started.requests,
            go_away: started.go_away,
            credit: Some(StreamCredit::new(started.reserve, conn, messages)),
            early: None,
            migrates: self.facts.migrates(),
            local_is_v6: self.local_is_v6,
            window: CONN_WINDOW,
        })
    }

    /// Returns the connection before its handshake is done.
    fn early_conn(
        &self,
        quic: &quinn::Connection,
        started: &Started,
        early: EarlyData,
    ) -> conn::Conn {
        conn::Conn::H3(Conn {
            quic: quic.clone(),
            endpoint: self.endpoint.clone(),
            requests: started.requests.clone(),
            go_away: started.go_away.clone(),
            // No stream may be left of it if the server rejects early data.
            credit: None,
            early: Some(early),
            migrates: self.facts.migrates(),
            local_is_v6: self.local_is_v6,
            window: CONN_WINDOW,
        })
    }

    /// Drives HTTP/3 and reports the connection's end.
    fn watch(&self, quic: &quinn::Connection, mut driver: Driver) {
        let (messages, conn) = (self.target.messages.clone(), self.target.id);
        let quic = quic.clone();
        tokio::spawn(async move {
            driver.wait_idle().await;
            // Requests wait for what its last frames were.
            drop(driver);
            let reason = quic.closed().await;
            if is_orderly(&reason) {
                messages.send(Message::Event(Event::Finished(conn))).ok();
            }
            let fault = close_fault(&reason);
            let closed = Event::Closed { conn, fault };
            messages.send(Message::Event(closed)).ok();
        });
    }

    fn local_port(&self) -> u16 {
        let address = self.endpoint.local_addr();
        address.map_or(0, |address| address.port())
    }

    fn report(&self, event: Event) {
        self.target.messages.send(Message::Event(event)).ok();
    }
}

async fn start(quic: &quinn::Connection) -> Result<Started, Fault> {
    let mut builder = ::h3::client::builder();
    builder.max_field_section_size(MAX_HEAD_BYTES.into());
    // h3 would put a reserved frame on each request's stream, which HAProxy 3.0 and Jetty 12 do not pass over.
    builder.send_grease(false);
    let transport = h3_quic::Connection::new(quic.clone()).max_frame_bytes(MAX_HEAD_BYTES.into());
    let (go_away, reserve) = (transport.go_away(), transport.reserve());
    let started = builder.build(transport).await;
    let (driver, requests) = started.map_err(|_| Fault::Protocol)?;
    Ok(Started {
        driver,
        requests,
        go_away,
        reserve,
    })
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    let idle = Duration::from_secs(30).try_into();
    transport
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONN_WINDOW))
        .max_idle_timeout(idle.ok());
    transport
}

/// Returns whose fault a failed handshake is. TLS alerts are QUIC error codes 0x0100 to 0x01ff (RFC 9000 section 20.1).
/// Alerts 42 to 49 are about certificates (RFC 8446 section 6.2), and those raised here are about the server's.
fn handshake_fault(error: &ConnectionError) -> Fault {
    match error {
        ConnectionError::TransportError(error) => match u64::from(error.code) {
            0x12a..=0x131 => Fault::Certificate,
            _ => Fault::Handshake,
        },
        ConnectionError::TimedOut => Fault::Connect,
        ConnectionError::Reset | ConnectionError::LocallyClosed => Fault::Connect,
        _ => Fault::Handshake,
    }
}

#[cfg(test)]
mod tests {
    use quinn_proto::TransportErrorCode;

    use super::*;

    #[test]
    fn a_failed_handshake_is_the_fault_of_path_certificate_or_peer() {
        let alert = |code| ConnectionError::TransportError(TransportErrorCode::crypto(code).into());
        for (error, fault) in [
            (alert(41), Fault::Handshake),
            (alert(42), Fault::Certificate),
            (alert(49), Fault::Certificate),
            (alert(50), Fault::Handshake),
            (ConnectionError::TimedOut, Fault::Connect),
            (ConnectionError::Reset, Fault::Connect),
            (ConnectionError::LocallyClosed, Fault::Connect),
            (ConnectionError::VersionMismatch, Fault::Handshake),
        ] {
            assert_eq!(handshake_fault(&error), fault, "{error}");
        }
    }
}
