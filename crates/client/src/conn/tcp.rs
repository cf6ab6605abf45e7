//! HTTP/2 and HTTP/1.1 over rustls and TCP.

use std::error::Error as _;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::HOST;
use http::{HeaderValue, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use route::{Fault, PathSample, Protocol};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{HandshakeKind, ProtocolVersion};
use socket2::TcpKeepalive;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use super::{Exchange, Failure, MAX_FIELDS, MAX_HEAD_BYTES, Opened, Target, cut_off};
use crate::body::Outgoing;
use crate::message::{Event, Message};
use crate::response::Part;
use crate::tcp_info;
use crate::tls::Tls;

/// An HTTP/2 connection with requests under way is asked for a sign of life this often.
const PING: Duration = Duration::from_secs(3);
/// Data that is not acknowledged for so long ends the connection.
const USER_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest time without a segment after which kernels ask for one.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

pub(crate) struct Conn {
    sender: Sender,
    /// The same socket, for what the kernel knows of it.
    socket: Arc<OwnedFd>,
    heard: tcp_info::Heard,
    /// Segments that had come when the kernel was told to ask for one; nothing if it was not.
    asked: Option<u64>,
    is_tls13: bool,
    chain: Vec<CertificateDer<'static>>,
}

#[derive(Clone)]
enum Sender {
    /// The router gives the connection to one request at a time.
    H1(Arc<Mutex<http1::SendRequest<Outgoing>>>),
    H2(http2::SendRequest<Outgoing>),
}

pub(crate) async fn open(target: Target, tls: &Tls) -> Result<Opened, Fault> {
    let began = Instant::now();
    let tcp = TcpStream::connect(target.address)
        .await
        .map_err(|_| Fault::Connect)?;
    let (conn, at) = (target.id, Instant::now());
    let heard = Event::Heard {
        conn,
        rtt: at - began,
        at: Some(at),
    };
    target.messages.send(Message::Event(heard)).ok();
    let options = socket2::SockRef::from(&tcp);
    // Without these it would be slower, and slower to notice that it is dead.
    options.set_tcp_nodelay(true).ok();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    options.set_tcp_user_timeout(Some(USER_TIMEOUT)).ok();
    let local_port = tcp.local_addr().map_or(0, |address| address.port());
    let socket = tcp
        .as_fd()
        .try_clone_to_owned()
        .map_err(|_| Fault::Connect)?;
    let name = ServerName::try_from(target.origin.host.to_string());
    let name = name.map_err(|_| Fault::Name)?;
    let stream = TlsConnector::from(tls.tcp()).connect(name, tcp).await;
    let stream = stream.map_err(|error| handshake_fault(&error))?;
    let session = stream.get_ref().1;
    let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    let chain = session.peer_certificates().unwrap_or_default().to_vec();
    if resumed && !tls.accepts_resumed(&chain, &target.origin.host) {
        return Err(Fault::Certificate);
    }
    let tls = Instant::now();
    let h2 = session.alpn_protocol() == Some(b"h2");
    let is_tls13 = session.protocol_version() == Some(ProtocolVersion::TLSv1_3);
    let io = TokioIo::new(stream);
    let (messages, conn) = (target.messages, target.id);
    let sender = if h2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .max_header_list_size(MAX_HEAD_BYTES);
        let (sender, driver) = builder.handshake(io).await.map_err(|_| Fault::Protocol)?;
        tokio::spawn(async move {
            driver.await.ok();
            // By GOAWAY, requests that are under way may go on without the driver.
            messages.send(Message::Event(Event::GoAway(conn))).ok();
        });
        Sender::H2(sender)
    } else {
        let mut builder = http1::Builder::new();
        builder
            .max_headers(MAX_FIELDS)
            .max_header_size(MAX_HEAD_BYTES as usize);
        let (sender, driver) = builder.handshake(io).await.map_err(|_| Fault::Protocol)?;
        tokio::spawn(async move {
            driver.await.ok();
            let fault = Fault::Reset;
            let closed = Event::Closed { conn, fault };
            messages.send(Message::Event(closed)).ok();
        });
        Sender::H1(Arc::new(Mutex::new(sender)))
    };
    let conn = Conn {
        sender,
        socket: Arc::new(socket),
        heard: tcp_info::Heard::default(),
        asked: None,
        is_tls13,
        chain,
    };
    Ok(Opened {
        conn: super::Conn::Tcp(conn),
        local_port,
        resumed,
        tls: Some(tls),
        early_taken: None,
    })
}

impl Conn {
    pub(crate) fn protocol(&self) -> Protocol {
        match self.sender {
            Sender::H1(_) => Protocol::H1,
            Sender::H2(_) => Protocol::H2,
        }
    }

    pub(crate) fn security(&self) -> (bool, Vec<Vec<u8>>) {
        let chain = self.chain.iter().map(|der| der.to_vec());
        (self.is_tls13, chain.collect())
    }

    /// Sends a request and reports its response.
    pub(crate) fn exchange(&self, exchange: Exchange) -> impl Future<Output = ()> + use<> {
        let (sender, kept_alive) = (self.sender.clone(), KeptAlive(Arc::clone(&self.socket)));
        async move {
            match run(&exchange, sender).await {
                Ok(bytes) => exchange.done(bytes),
                Err(failure) => exchange.failed(&failure),
            }
            drop(kept_alive);
        }
    }

    pub(crate) fn sample(&mut self) -> PathSample {
        let sample = self.heard.sample(self.socket.as_fd());
        if self
            .asked
            .is_some_and(|received| received < sample.received)
        {
            // Once is enough for now; the kernel would go on.
            self.asked = None;
            keep_alive(&self.socket, false);
        }
        sample
    }

    /// Lets the kernel ask for a sign of life. Data that is not acknowledged is repeated anyway; a peer
    /// that has acknowledged the request and says nothing must answer this.
    pub(crate) fn probe(&mut self) {
        self.asked = Some(self.heard.count());
        keep_alive(&self.socket, true);
    }

    /// Ends the requests under way, which hyper would go on with; each holds the socket. A connection without
    /// any ends in good order when it is dropped.
    pub(crate) fn close(&self) {
        if Arc::strong_count(&self.socket) > 1 {
            // It may have ended by itself.
            let socket = socket2::SockRef::from(&*self.socket);
            socket.shutdown(Shutdown::Both).ok();
        }
    }
}

/// Ends what [`Conn::probe`] began when a request ends: an idle connection must not wake the device. If
/// another request waits, its next probe begins it anew.
struct KeptAlive(Arc<OwnedFd>);

impl Drop for KeptAlive {
    fn drop(&mut self) {
        keep_alive(&self.0, false);
    }
}

fn keep_alive(socket: &OwnedFd, on: bool) {
    let socket = socket2::SockRef::from(socket);
    let set = if on {
        let often = TcpKeepalive::new();
        socket.set_tcp_keepalive(&often.with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE))
    } else {
        socket.set_keepalive(false)
    };
    // Without it a path that dies is noticed later.
    set.ok();
}

async fn run(exchange: &Exchange, sender: Sender) -> Result<u64, Failure> {
    let (body, _going) = exchange.outgoing();
    let mut request = http::Request::from_parts((*exchange.head).clone(), body);
    let response = match sender {
        Sender::H1(sender) => {
            to_origin_form(&mut request);
            let mut sender = sender.lock().await;
            sender.ready().await.map_err(|_| Failure::gone_away())?;
            let response = sender.send_request(request);
            exchange.sent();
            response.await
        }
        Sender::H2(mut sender) => {
            sender.ready().await.map_err(|_| Failure::gone_away())?;
            let response = sender.send_request(request);
            exchange.sent();
            response.await
        }
    };
    let response = response.map_err(|error| failure(&error))?;
    let (head, incoming) = response.into_parts();
    let body = exchange.head(head);
    match receive(exchange, incoming, &body).await {
        Ok(bytes) => Ok(bytes),
        Err(error) => {
            let failure = failure(&error);
            cut_off(&body, &failure).await;
            Err(failure)
        }
    }
}

/// Passes a body on to the app.
async fn receive(
    exchange: &Exchange,
    mut incoming: Incoming,
    body: &tokio::sync::mpsc::Sender<Part>,
) -> Result<u64, hyper::Error> {
    let (mut bytes, mut trailers) = (0, None);
    while let Some(frame) = exchange.piece(incoming.frame()).await {
        match frame?.into_data() {
            Ok(chunk) => {
                bytes += chunk.len() as u64;
                if body.send(Part::Data(chunk)).await.is_err() {
                    // The app let go of the response; its guard cancels the request.
                    return Ok(bytes);
                }
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    body.send(Part::End(trailers)).await.ok();
    Ok(bytes)
}

/// Moves the authority from the URI to `Host` (RFC 9112 sections 3.2 and 3.2.1).
fn to_origin_form<B>(request: &mut http::Request<B>) {
    let uri = std::mem::take(request.uri_mut()).into_parts();
    if let Some(authority) = &uri.authority
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = uri.path_and_query.map(Uri::from).unwrap_or_default();
}

fn failure(error: &hyper::Error) -> Failure {
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<h2::Error>());
    let reason = source.and_then(h2::Error::reason);
    // Streams above the last one that GOAWAY names fail by it; the others go on.
    let gone_away = source.is_some_and(|error| error.is_go_away() && error.is_remote());
    if error.is_canceled() || gone_away {
        return Failure::gone_away();
    }
    // RFC 9113 section 8.7: the server has done nothing.
    if reason == Some(h2::Reason::REFUSED_STREAM) {
        return Failure::before_sending(Fault::Reset);
    }
    let protocol = error.is_parse() || reason == Some(h2::Reason::PROTOCOL_ERROR);
    let fault = if protocol {
        Fault::Protocol
    } else {
        Fault::Reset
    };
    Failure::after_sending(fault)
}

fn handshake_fault(error: &std::io::Error) -> Fault {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => Fault::Certificate,
        Some(_) => Fault::Handshake,
        None => Fault::Connect,
    }
}
