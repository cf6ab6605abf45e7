//! HTTP/3 over quinn.

mod credit;
mod early;
mod handshake;
mod open;

use std::future::poll_fn;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::task::Poll;

use ::h3::client::{RequestStream, SendRequest};
use ::h3::error::{Code, ConnectionError as ConnectionError3, LocalError, StreamError};
use ::h3::quic::StreamId;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::future::{Either, select};
use h3_quic::{GoAway, Refused};
use http::StatusCode;
use http_rules::{BodyLength, Version, check_response, check_trailers};
use quinn::{ConnectionError, Endpoint, VarInt};
use route::{Fault, PathSample, Replay};
use rustls::pki_types::CertificateDer;

use self::credit::StreamCredit;
use self::early::EarlyData;
pub(crate) use self::open::open;
use super::{DrainReason, Exchange, Failure, InterimCounter, cut_off};
use crate::response::Part;

/// RFC 9114 section 8.1.
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x0100);
/// H3_VERSION_FALLBACK, the same.
const VERSION_FALLBACK: VarInt = VarInt::from_u32(0x0110);
/// Received data is passed on in pieces of this many bytes. Each piece wakes the app, which costs more than the copy
/// (docs/reference/client-price.md).
const PIECE: usize = 64 << 10;
/// Pieces that wait for the app. No window counts them.
const PIECES: usize = 1;
/// The longest payload that quinn accepts by default.
const PACKET: usize = 1_472;

/// A connection; its endpoint has one socket, which a nudge replaces.
pub(crate) struct Conn {
    quic: quinn::Connection,
    endpoint: Endpoint,
    requests: Requests,
    go_away: GoAway,
    /// Once its handshake is done.
    credit: Option<StreamCredit>,
    /// While its handshake is not done.
    early: Option<EarlyData>,
    migrates: bool,
    local_is_v6: bool,
    window: u32,
}

type Requests = SendRequest<h3_quic::OpenStreams, Bytes>;
type Sending = RequestStream<h3_quic::SendStream<Bytes>, Bytes>;
type Receiving = RequestStream<h3_quic::RecvStream, Bytes>;

impl Conn {
    /// Sends a request and reports its response.
    pub(crate) fn exchange(&self, exchange: Exchange) -> impl Future<Output = ()> + use<> {
        let (mut requests, quic) = (self.requests.clone(), self.quic.clone());
        let (early, go_away) = (self.early.clone(), self.go_away.clone());
        let opening = self.credit.as_ref().map(StreamCredit::opening);
        async move {
            let run = async {
                let (head, error) = ((*exchange.head).clone(), |error| not_sent(&error, &quic));
                let head = http::Request::from_parts(head, ());
                let stream = requests.send_request(head).await.map_err(error)?;
                drop(opening);
                run(&exchange, stream, &quic, early.as_ref(), go_away).await
            };
            let outcome = match &early {
                None => run.await,
                Some(early) => early.or_again(run).await,
            };
            exchange.ended(outcome);
        }
    }

    /// Returns the server's certificates in DER.
    pub(crate) fn chain(&self) -> Vec<Vec<u8>> {
        let chain = chain(&self.quic);
        chain.iter().map(|der| der.to_vec()).collect()
    }

    pub(crate) fn migrates(&self) -> bool {
        self.migrates
    }

    /// Reports whether the server takes another request now.
    pub(crate) fn has_credit(&self) -> bool {
        self.credit
            .as_ref()
            .is_none_or(StreamCredit::allows_another)
    }

    pub(crate) fn sample(&self) -> PathSample {
        let stats = self.quic.stats();
        // quinn does not report the variation. After a few equal samples it is a quarter.
        let (srtt, rttvar) = (stats.path.rtt, stats.path.rtt / 4);
        PathSample {
            received: stats.udp_rx.datagrams,
            // A probe always is.
            owed: true,
            srtt,
            rttvar,
        }
    }

    /// Raises the window by a byte, which makes quinn send MAX_DATA.
    pub(crate) fn probe(&mut self) {
        self.window += 1;
        self.quic.set_receive_window(VarInt::from_u32(self.window));
    }

    pub(crate) fn nudge(&self) {
        let socket = UdpSocket::bind(unspecified(self.local_is_v6));
        if let Err(error) = socket.and_then(|socket| self.endpoint.rebind(socket)) {
            tracing::debug!("no new port: {error}");
        }
    }

    pub(crate) fn close(&self) {
        self.quic.close(H3_NO_ERROR, b"");
    }
}

fn chain(quic: &quinn::Connection) -> Vec<CertificateDer<'static>> {
    let identity = quic.peer_identity();
    let chain = identity.and_then(|chain| chain.downcast::<Vec<CertificateDer<'_>>>().ok());
    chain.map_or_else(Vec::new, |chain| *chain)
}

async fn run(
    exchange: &Exchange,
    stream: RequestStream<h3_quic::BidiStream<Bytes>, Bytes>,
    quic: &quinn::Connection,
    early: Option<&EarlyData>,
    go_away: GoAway,
) -> Result<u64, Failure> {
    let (sending, receiving) = stream.split();
    let receiving = pin!(receive(exchange, receiving, quic, early, go_away));
    match select(pin!(send(exchange, sending)), receiving).await {
        // A server may answer before it has the whole body, and stop the rest (RFC 9114 section 4.1).
        Either::Left((_, receiving)) => receiving.await,
        Either::Right((received, _)) => received,
    }
}

async fn send(exchange: &Exchange, mut stream: Sending) -> Result<(), StreamError> {
    let (mut body, _going) = exchange.outgoing();
    while let Some(chunk) = body.next().await {
        stream.send_data(chunk).await?;
    }
    stream.finish().await?;
    exchange.sent();
    Ok(())
}

async fn receive(
    exchange: &Exchange,
    mut stream: Receiving,
    quic: &quinn::Connection,
    early: Option<&EarlyData>,
    go_away: GoAway,
) -> Result<u64, Failure> {
    let fault = |error: &StreamError| stream_failure(error, quic);
    let id = stream.id();
    let mut head =
        unless_excluded(final_head(&mut stream, quic), exchange, id, quic, go_away).await?;
    if let (Some(early), StatusCode::TOO_EARLY) = (early, head.status) {
        // Once more, after the handshake (RFC 8470 section 5.2).
        early.was_taken().await;
        return Err(Failure::before_sending(Fault::Reset));
    }
    let method = &exchange.head.method;
    let mut length = check_response(Version::H3, method, &mut head)?.length;
    let body = exchange.head(head, PIECES);
    let (mut piece, mut usual) = (BytesMut::new(), room(&length));
    let failure = loop {
        // Nothing if all that has come is in the piece.
        let came = poll_fn(|context| match stream.poll_recv_data(context) {
            Poll::Pending if !piece.is_empty() => Poll::Ready(None),
            came => came.map(Some),
        });
        let mut came = exchange.piece(came).await;
        if let Some(Ok(Some(packet))) = &mut came {
            if piece.is_empty() {
                piece.reserve(packet.remaining().max(usual.min(room(&length))));
            }
            if let Err(violation) = length.add(packet.remaining()) {
                break violation.into();
            }
            piece.put(packet);
            if piece.len() < PIECE {
                continue;
            }
        }
        if !piece.is_empty() {
            // A piece keeps all that was allocated for it. Small ones, e.g. of events, are followed by small ones.
            usual = piece.len() + PACKET;
            if !exchange.pass_on(&body, piece.split().freeze()).await {
                return Ok(length.received());
            }
        }
        match came {
            None | Some(Ok(Some(_))) => {}
            Some(Ok(None)) => match trailers(exchange, &mut stream, quic, &length).await {
                Ok(trailers) => {
                    body.send(Part::End(trailers)).await.ok();
                    return Ok(length.received());
                }
                Err(failure) => break failure,
            },
            Some(Err(error)) => break fault(&error),
        }
    };
    cut_off(&body, &failure).await;
    Err(failure)
}

/// Waits for the head of the final response; h3 hands interim ones (RFC 9110 section 15.2) to its caller.
async fn final_head(
    stream: &mut Receiving,
    quic: &quinn::Connection,
) -> Result<http::response::Parts, Failure> {
    let mut interim = InterimCounter::default();
    loop {
        let response = stream.recv_response().await;
        let response = response.map_err(|error| stream_failure(&error, quic))?;
        if !response.status().is_informational() {
            return Ok(response.into_parts().0);
        }
        interim.add(Version::H3, response.status(), response.headers())?;
    }
}

/// Waits for a head, or until GOAWAY says that the server will not process the stream (RFC 9114 section 5.2).
///
/// Servers on h3 0.0.8 name the last request that they do process. Therefore GOAWAY ends a request while its stream
/// lives only if the request is safe (RFC 9110 section 9.2.1). It ends another one only once the server has closed the
/// connection.
async fn unless_excluded<T>(
    head: impl Future<Output = Result<T, Failure>>,
    exchange: &Exchange,
    stream: StreamId,
    quic: &quinn::Connection,
    mut go_away: GoAway,
) -> Result<T, Failure> {
    let is_safe = exchange.replayable && exchange.head.method.is_safe();
    let mut later = go_away.clone();
    let excluded = async move {
        // The connection's end shows in the head.
        if !is_safe || !later.excludes_later(stream).await {
            std::future::pending::<()>().await;
        }
    };
    match select(pin!(head), pin!(excluded)).await {
        Either::Right(_) => Err(Failure::gone_away()),
        Either::Left((Err(failure), _))
            if failure.fault != Fault::Malformed
                && let Some(ConnectionError::ApplicationClosed(_)) = quic.close_reason()
                && go_away.excludes_later(stream).await =>
        {
            Err(Failure::gone_away())
        }
        Either::Left((Err(failure), _))
            if failure.fault == Fault::Reset && failure.replay == Replay::Safe =>
        {
            // The server has rejected it. GOAWAY may have come with that, but its stream is read by another task.
            tokio::task::yield_now().await;
            Err(match go_away.has_come() {
                true => Failure::gone_away(),
                false => failure,
            })
        }
        Either::Left((head, _)) => head,
    }
}

/// Waits for the end of the stream.
async fn trailers(
    exchange: &Exchange,
    stream: &mut Receiving,
    quic: &quinn::Connection,
    length: &BodyLength,
) -> Result<Option<http::HeaderMap>, Failure> {
    let trailers = exchange.piece(stream.recv_trailers()).await;
    let mut trailers = trailers.map_err(|error| stream_failure(&error, quic))?;
    // h3 leaves this check to its caller (RFC 9114 section 4.1.2).
    length.end()?;
    if let Some(fields) = &mut trailers {
        check_trailers(Version::H3, fields)?;
    }
    Ok(trailers)
}

/// Returns how much to allocate for the next piece of a body.
fn room(length: &BodyLength) -> usize {
    let missing = length.missing().unwrap_or(u64::MAX);
    usize::try_from(missing)
        .unwrap_or(usize::MAX)
        .min(PIECE + PACKET)
}

fn unspecified(v6: bool) -> SocketAddr {
    if v6 {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    }
}

/// Returns the failure of a request whose head h3 has not sent.
fn not_sent(error: &StreamError, quic: &quinn::Connection) -> Failure {
    if quic.close_reason().is_some() {
        return Failure::gone_away();
    }
    match error {
        // RFC 9114 section 4.2.2.
        StreamError::HeaderTooBig { .. } => Failure::before_sending(Fault::HeadTooLarge),
        error => Failure {
            replay: Replay::Safe,
            ..stream_failure(error, quic)
        },
    }
}

fn stream_failure(error: &StreamError, quic: &quinn::Connection) -> Failure {
    match error {
        // Refused by this side, which may have closed the connection for it.
        StreamError::Undefined(source) if source.is::<Refused>() => {
            tracing::debug!("malformed response: {source}");
            return Failure::after_sending(Fault::Malformed);
        }
        StreamError::StreamError { .. } | StreamError::HeaderTooBig { .. } => {
            tracing::debug!("malformed response: {error}");
            return Failure::after_sending(Fault::Malformed);
        }
        _ => {}
    }
    // What this side closed the connection for.
    if let StreamError::ConnectionError(ConnectionError3::Local {
        error: LocalError::Application { .. },
        ..
    }) = error
    {
        tracing::debug!("the peer broke the protocol: {error}");
        return Failure::after_sending(Fault::Protocol);
    }
    if let Some(reason) = quic.close_reason() {
        return match &reason {
            ConnectionError::ApplicationClosed(close) if close.error_code == VERSION_FALLBACK => {
                Failure::before_sending(Fault::Http11Required)
            }
            reason => Failure {
                drain: is_orderly(reason).then_some(DrainReason::Finished),
                ..Failure::after_sending(close_fault(reason))
            },
        };
    }
    match error {
        // RFC 9114 section 4.1.1: the server has done nothing.
        StreamError::RemoteTerminate { code, .. } if *code == Code::H3_REQUEST_REJECTED => {
            Failure::before_sending(Fault::Reset)
        }
        StreamError::RemoteTerminate { code, .. } if *code == Code::H3_VERSION_FALLBACK => {
            Failure::before_sending(Fault::Http11Required)
        }
        StreamError::RemoteClosing => Failure::gone_away(),
        StreamError::RemoteTerminate { .. } => Failure::after_sending(Fault::Reset),
        _ => Failure::after_sending(Fault::Protocol),
    }
}

/// Reports whether the server closed the connection without an error.
fn is_orderly(reason: &ConnectionError) -> bool {
    matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code == H3_NO_ERROR)
}

fn close_fault(error: &ConnectionError) -> Fault {
    match error {
        ConnectionError::VersionMismatch | ConnectionError::TransportError(_) => Fault::Protocol,
        _ => Fault::Reset,
    }
}
