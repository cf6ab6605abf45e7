//! An HTTPS site with what HttpClient's handlers do by themselves: redirects, cookies, compression.
//! It supports HTTP/1.1 and HTTP/2 and has an RSA certificate, so that Mono's own handler can be
//! asked the same.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::routing::{any, get};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use flate2::{Compression, GzBuilder};
use futures_util::StreamExt as _;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256};
use rsa::pkcs8::EncodePrivateKey as _;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A site that runs for as long as the test's runtime.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) root_pem: String,
}

pub(crate) async fn start() -> TestServer {
    let (config, root_pem) = tls();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            tcp.set_nodelay(true).unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // Clients that refuse the certificate are part of the tests.
                if let Ok(tls) = acceptor.accept(tcp).await {
                    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let service = TowerToHyperService::new(routes());
                    // Clients may go at any time.
                    server
                        .serve_connection(TokioIo::new(tls), service)
                        .await
                        .ok();
                }
            });
        }
    });
    TestServer { address, root_pem }
}

fn routes() -> Router {
    Router::new()
        .route("/echo", any(echo))
        .route("/fields", any(fields))
        .route("/to/{status}", any(redirect))
        .route("/to-utf8", get(redirect_to_utf8))
        .route("/sm%C3%B8rrebr%C3%B8d", get(async || "UTF-8"))
        .route("/loop/{times}", any(repeat))
        .route("/set", any(set_cookies))
        .route("/gzip", get(async || compressed("gzip")))
        .route("/deflate", get(async || compressed("deflate")))
        .route("/coded", any(coded))
        .route("/host", get(host))
        .route(
            "/status/{status}",
            any(async |Path(status): Path<u16>| StatusCode::from_u16(status).unwrap()),
        )
        .route("/endless", get(endless))
        .route("/cut", get(cut))
        .route("/pause", get(pause))
        .route("/drop", any(drop_connection))
        .route("/stall", any(async || std::future::pending::<()>().await))
}

/// Returns the method, a line break, and the body.
async fn echo(method: Method, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let kind = headers.get(header::CONTENT_TYPE).cloned();
    let mut echo = format!("{method}\n").into_bytes();
    echo.extend(body);
    let mut response = Response::new(echo.into());
    if let Some(kind) = kind {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// Returns the header fields that came, in the order of their names, but for those of the
/// connection.
async fn fields(headers: HeaderMap) -> String {
    let own = [header::HOST, header::CONNECTION];
    let fields = headers.iter().filter(|(name, _)| !own.contains(name));
    let mut lines: Vec<_> = fields
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines.concat()
}

#[derive(serde::Deserialize)]
struct Location {
    location: String,
}

async fn redirect(Path(status): Path<u16>, Query(to): Query<Location>) -> Response<Body> {
    let response = Response::builder()
        .status(status)
        .header(header::LOCATION, to.location);
    response.body("a redirect".into()).unwrap()
}

async fn repeat(Path(times): Path<u32>) -> Response<Body> {
    if times == 0 {
        return Response::new("the end".into());
    }
    let response = Response::builder().status(302);
    let location = format!("/loop/{}", times - 1);
    response
        .header(header::LOCATION, location)
        .body(Body::empty())
        .unwrap()
}

/// Sets each value of the query `c` as a cookie.
async fn set_cookies(Query(cookies): Query<Vec<(String, String)>>) -> Response<Body> {
    let mut response = Response::builder();
    for (_, cookie) in cookies {
        response = response.header(header::SET_COOKIE, cookie);
    }
    response.body("set".into()).unwrap()
}

fn compressed(encoding: &'static str) -> Response<Body> {
    let text = b"compressed ".repeat(1_000);
    let body = if encoding == "gzip" {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    } else {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    let response = Response::builder().header(header::CONTENT_ENCODING, encoding);
    response
        .header(header::CONTENT_TYPE, "text/plain")
        .body(body.into())
        .unwrap()
}

#[derive(serde::Deserialize)]
struct Coded {
    /// Values of `content-encoding`, with `|` between fields.
    coding: String,
    /// What is done to the text, in order, with commas between.
    #[serde(default)]
    steps: String,
    /// How many bytes are missing at the end.
    #[serde(default)]
    cut: usize,
    #[serde(default = "ok")]
    status: u16,
}

fn ok() -> u16 {
    200
}

/// Returns a text that is coded, and perhaps damaged, as the query says.
async fn coded(Query(query): Query<Coded>) -> Response<Body> {
    let mut body = b"compressed ".repeat(1_000);
    for step in query.steps.split(',').filter(|step| !step.is_empty()) {
        body = match step {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
            "gzip-with-all-fields" => {
                let mut encoder = GzBuilder::new()
                    .extra(vec![7; 300])
                    .filename("name")
                    .comment("comment")
                    .write(Vec::new(), Compression::default());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
            "raw" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&body).unwrap();
                encoder.finish().unwrap()
            }
            "twice" => body.repeat(2),
            "junk" => [&body[..], b"junk"].concat(),
            "flip" => {
                let last = body.len() - 1;
                body[last] ^= 1;
                body
            }
            "empty" => Vec::new(),
            step => panic!("{step} is no step"),
        };
    }
    body.truncate(body.len().saturating_sub(query.cut));
    let mut response = Response::builder().status(query.status);
    for value in query.coding.split('|') {
        response = response.header(header::CONTENT_ENCODING, value);
    }
    let has_content = query.status == ok();
    response
        .body(if has_content {
            body.into()
        } else {
            Body::empty()
        })
        .unwrap()
}

/// Returns the authority that the request is for.
async fn host(uri: Uri, headers: HeaderMap) -> String {
    let field = headers.get(header::HOST).map(|host| host.to_str().unwrap());
    let authority = uri.authority().map(axum::http::uri::Authority::as_str);
    authority.or(field).unwrap_or_default().to_owned()
}

/// Redirects to a path that is not escaped.
async fn redirect_to_utf8() -> Response<Body> {
    let location = HeaderValue::from_bytes("/sm\u{f8}rrebr\u{f8}d".as_bytes()).unwrap();
    let response = Response::builder().status(302);
    response
        .header(header::LOCATION, location)
        .body(Body::empty())
        .unwrap()
}

/// Sends a line now, and one every 10 ms for ever.
async fn endless() -> Body {
    let lines = futures_util::stream::repeat(()).then(async |()| {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok::<_, std::convert::Infallible>(Bytes::from_static(b"more\n"))
    });
    Body::from_stream(lines)
}

/// Sends a line, and then nothing more.
async fn pause() -> Body {
    let line = futures_util::stream::iter([Ok::<_, std::convert::Infallible>("more\n")]);
    Body::from_stream(line.chain(futures_util::stream::pending()))
}

/// Sends a line, and then breaks the connection or stream.
async fn cut() -> Body {
    let line = futures_util::stream::iter([Ok(Bytes::from_static(b"more\n"))]);
    let broken = futures_util::stream::once(async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Err(std::io::Error::other("broken on purpose"))
    });
    Body::from_stream(line.chain(broken))
}

/// Ends the connection without an answer. Nothing is printed, as a panic would be.
async fn drop_connection() {
    std::panic::resume_unwind(Box::new("on purpose"))
}

fn tls() -> (ServerConfig, String) {
    let key = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2_048).unwrap();
    let der = PrivatePkcs8KeyDer::from(key.to_pkcs8_der().unwrap().as_bytes().to_vec());
    let key = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_RSA_SHA256).unwrap();
    let certificate =
        CertificateParams::new(["localhost", "other.localhost"].map(str::to_owned)).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let chain = vec![certificate.der().clone()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let mut config = config.with_single_cert(chain, der.into()).unwrap();
    // Each handshake shows the certificate, so that clients check it.
    config.send_tls13_tickets = 0;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (config, certificate.pem())
}
