//! Clients: hyper for HTTP/1.1 and HTTP/2, quinn with h3 for HTTP/3, tonic for gRPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Buf, Bytes};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

use super::TestServer;

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// An HTTP connection.
pub enum Http {
    H1(hyper::client::conn::http1::SendRequest<Full<Bytes>>),
    H2(hyper::client::conn::http2::SendRequest<Full<Bytes>>),
    H3(H3),
}

/// An HTTP/3 connection.
pub struct H3 {
    pub quic: quinn::Connection,
    pub requests: h3::client::SendRequest<h3_quic::OpenStreams, Bytes>,
}

pub const PROTOCOLS: [&str; 3] = ["http/1.1", "h2", "h3"];

/// Returns a configuration that trusts the server and has no client certificate.
pub fn tls(server: &TestServer) -> ClientConfig {
    builder(server).with_no_client_auth()
}

/// Returns a configuration that trusts the server and has the client certificate it generated.
pub fn mutual_tls(server: &TestServer) -> ClientConfig {
    let chain = CertificateDer::from_pem_file(server.file("client.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(server.file("client.key")).unwrap();
    builder(server)
        .with_client_auth_cert(vec![chain], key)
        .unwrap()
}

pub fn builder(server: &TestServer) -> Builder {
    builder_with(server, rustls::crypto::ring::default_provider())
}

type Builder = rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>;

pub fn builder_with(server: &TestServer, provider: CryptoProvider) -> Builder {
    builder_trusting(&[server], provider, rustls::ALL_VERSIONS)
}

pub fn versions(server: &TestServer, versions: &[&'static SupportedProtocolVersion]) -> Builder {
    builder_trusting(
        &[server],
        rustls::crypto::ring::default_provider(),
        versions,
    )
}

pub fn builder_trusting(
    servers: &[&TestServer],
    provider: CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
) -> Builder {
    let mut roots = RootCertStore::empty();
    for server in servers {
        roots
            .add(CertificateDer::from_pem_file(server.file("ca.pem")).unwrap())
            .unwrap();
    }
    ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
}

/// Connects over one protocol.
pub async fn connect(protocol: &str, to: SocketAddr, tls: &ClientConfig) -> Result<Http, Error> {
    Ok(match protocol {
        "http/1.1" => {
            let stream = TokioIo::new(tls_stream(protocol, to, tls).await?);
            let (requests, connection) = hyper::client::conn::http1::handshake(stream).await?;
            tokio::spawn(connection);
            Http::H1(requests)
        }
        "h2" => {
            let stream = TokioIo::new(tls_stream(protocol, to, tls).await?);
            let (requests, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            Http::H2(requests)
        }
        "h3" => Http::H3(h3(quic(to, tls)?.await?).await?),
        other => panic!("unknown protocol {other}"),
    })
}

/// Connects over `http/1.1` or `h2` without TLS.
pub async fn connect_plaintext(protocol: &str, to: SocketAddr) -> Result<Http, Error> {
    let stream = TokioIo::new(TcpStream::connect(to).await?);
    Ok(match protocol {
        "http/1.1" => {
            let (requests, connection) = hyper::client::conn::http1::handshake(stream).await?;
            tokio::spawn(connection);
            Http::H1(requests)
        }
        _ => {
            let (requests, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await?;
            tokio::spawn(connection);
            Http::H2(requests)
        }
    })
}

/// Connects with TLS over TCP, offering one ALPN protocol.
pub async fn tls_stream(
    alpn: &str,
    to: SocketAddr,
    tls: &ClientConfig,
) -> Result<TlsStream<TcpStream>, Error> {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![alpn.into()];
    let tcp = TcpStream::connect(to).await?;
    tcp.set_nodelay(true)?;
    let name = ServerName::try_from("localhost")?;
    Ok(TlsConnector::from(Arc::new(tls)).connect(name, tcp).await?)
}

/// Starts a QUIC handshake.
pub fn quic(to: SocketAddr, tls: &ClientConfig) -> Result<quinn::Connecting, Error> {
    let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into())?;
    quic_from(&endpoint, to, tls)
}

/// Starts a QUIC handshake from this endpoint.
pub fn quic_from(
    endpoint: &quinn::Endpoint,
    to: SocketAddr,
    tls: &ClientConfig,
) -> Result<quinn::Connecting, Error> {
    Ok(endpoint.connect_with(quic_config(tls)?, to, "localhost")?)
}

/// Returns what a QUIC client offers.
pub fn quic_config(tls: &ClientConfig) -> Result<quinn::ClientConfig, Error> {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::crypto::rustls::QuicClientConfig::try_from(tls)?;
    Ok(quinn::ClientConfig::new(Arc::new(config)))
}

/// Returns the first packet of a QUIC client, which sends no others.
pub fn first_packet(tls: &ClientConfig) -> Vec<u8> {
    let mut tls = tls.clone();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let mut endpoint = quinn_proto::Endpoint::new(Arc::default(), None, true, None);
    let (now, unused) = (Instant::now(), SocketAddr::from(([127, 0, 0, 1], 9)));
    let (_, mut connection) = endpoint.connect(now, config, unused, "localhost").unwrap();
    let mut packet = Vec::new();
    let transmit = connection.poll_transmit(now, 1, &mut packet).unwrap();
    packet.truncate(transmit.size);
    packet
}

/// Starts HTTP/3 over a QUIC connection.
pub async fn h3(quic: quinn::Connection) -> Result<H3, Error> {
    let (mut driver, requests) = h3::client::new(h3_quic::Connection::new(quic.clone())).await?;
    tokio::spawn(async move { driver.wait_idle().await });
    Ok(H3 { quic, requests })
}

/// Connects with gRPC over TLS.
pub async fn grpc(to: SocketAddr, tls: &ClientConfig) -> Result<Channel, Error> {
    let tls = tls.clone();
    let connector = tower::service_fn(move |_: Uri| {
        let tls = tls.clone();
        async move { Ok::<_, Error>(TokioIo::new(tls_stream("h2", to, &tls).await?)) }
    });
    // The connector does TLS. tonic accepts `https` only when built with its own TLS.
    let endpoint = Endpoint::from_shared(format!("http://localhost:{}", to.port()))?;
    Ok(endpoint.connect_with_connector(connector).await?)
}

/// A response whose head has been read and whose body has not.
pub struct PartialResponse {
    pub head: Response<()>,
    body: UnreadBody,
}

enum UnreadBody {
    Tcp(hyper::body::Incoming),
    H3(Box<h3::client::RequestStream<h3_quic::BidiStream<Bytes>, Bytes>>),
}

impl Http {
    /// Sends a request and reads the whole response.
    pub async fn call(&mut self, request: Request<Bytes>) -> Result<Response<Bytes>, Error> {
        self.send(request).await?.read().await
    }

    /// Sends a request and reads the response's head.
    pub async fn send(&mut self, request: Request<Bytes>) -> Result<PartialResponse, Error> {
        let response = match self {
            Self::H1(requests) => {
                requests.ready().await?;
                requests
                    .send_request(origin_form(request).map(Full::new))
                    .await?
            }
            Self::H2(requests) => requests.send_request(request.map(Full::new)).await?,
            Self::H3(h3) => return h3.send(request).await,
        };
        let (head, body) = response.into_parts();
        Ok(PartialResponse {
            head: Response::from_parts(head, ()),
            body: UnreadBody::Tcp(body),
        })
    }
}

impl H3 {
    /// Sends a request and reads the response's head.
    pub async fn send(&mut self, request: Request<Bytes>) -> Result<PartialResponse, Error> {
        let (head, body) = request.into_parts();
        let mut stream = self
            .requests
            .send_request(Request::from_parts(head, ()))
            .await?;
        if !body.is_empty() {
            stream.send_data(body).await?;
        }
        stream.finish().await?;
        let head = stream.recv_response().await?;
        Ok(PartialResponse {
            head,
            body: UnreadBody::H3(Box::new(stream)),
        })
    }
}

impl PartialResponse {
    /// Reads the body and returns the whole response.
    pub async fn read(self) -> Result<Response<Bytes>, Error> {
        let body = match self.body {
            UnreadBody::Tcp(body) => body.collect().await?.to_bytes(),
            UnreadBody::H3(mut stream) => {
                let mut body = Vec::new();
                while let Some(mut data) = stream.recv_data().await? {
                    body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                }
                body.into()
            }
        };
        Ok(self.head.map(|()| body))
    }
}

/// Returns a request to the server, in absolute form and with an id.
pub fn request(method: &str, path: &str, id: u32, body: impl Into<Bytes>) -> Request<Bytes> {
    Request::builder()
        .method(method)
        .uri(format!("https://localhost{path}"))
        .header("x-commute-id", id)
        .body(body.into())
        .unwrap()
}

/// Converts a request to the origin form of HTTP/1.1, with the authority in a header.
fn origin_form(mut request: Request<Bytes>) -> Request<Bytes> {
    let uri = request.uri().clone();
    request
        .headers_mut()
        .insert("host", uri.authority().unwrap().as_str().parse().unwrap());
    *request.uri_mut() = uri.path_and_query().unwrap().as_str().parse().unwrap();
    request
}
