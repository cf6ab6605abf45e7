//! Clients that prove who they are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, Request};
use messages::v1::Chunk;
use messages::{Codec, Format, Name, PassThrough};
use prost::Message as _;
use sign::{Body, Chunks, Fields, Key};
use tonic::metadata::MetadataMap;
use tonic::transport::Channel;

use super::{TestServer, client};

/// The authority of every request of [`client::request`].
pub const AUTHORITY: &str = "localhost";

pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Reads the key that the server wrote.
pub fn key(server: &TestServer) -> Key {
    let text = std::fs::read_to_string(server.file("hmac.key")).unwrap();
    Key::new(server::KEY_ID, &STANDARD.decode(text).unwrap()).unwrap()
}

/// Reads the token that the server wrote.
pub fn token(server: &TestServer) -> String {
    std::fs::read_to_string(server.file("token.jwt")).unwrap()
}

pub fn sign(request: &sign::Request<'_>, key: &Key, created_s: u64) -> Fields {
    static NONCE: AtomicU64 = AtomicU64::new(0);
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&NONCE.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    request.sign(key, created_s, &nonce)
}

/// Signs an HTTP request as of `created_s`.
pub fn sign_http_at(mut request: Request<Bytes>, key: &Key, created_s: u64) -> Request<Bytes> {
    let digest = sign::content_digest(request.body());
    let signed = sign::Request {
        method: request.method().as_str(),
        authority: AUTHORITY,
        path: request.uri().path(),
        query: request.uri().query(),
        body: Body::Digest(&digest),
    };
    let fields = sign(&signed, key, created_s);
    attach(request.headers_mut(), &fields, Some(&digest));
    request
}

/// Signs an HTTP request.
pub fn sign_http(request: Request<Bytes>, key: &Key) -> Request<Bytes> {
    sign_http_at(request, key, now_s())
}

fn attach(headers: &mut HeaderMap, fields: &Fields, digest: Option<&str>) {
    let fields = [
        ("signature-input", Some(fields.signature_input.as_str())),
        ("signature", Some(&fields.signature)),
        ("content-digest", digest),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
    }
}

/// Returns an encoded message of a submission.
pub fn diag(format: Format) -> Bytes {
    let name: Name = "diag-100kB".parse().unwrap();
    Codec::plain(format).coder().encode(&name.message(1)).into()
}

/// Creates a submission or an exchange of it.
pub fn typed(path: &str, id: u32, format: Format) -> Request<Bytes> {
    let mut request = client::request("POST", path, id, diag(format));
    let kind = format.content_type().parse().unwrap();
    request.headers_mut().insert("content-type", kind);
    request
}

/// Returns a request of every kind.
pub fn requests() -> Vec<Request<Bytes>> {
    vec![
        client::request("GET", "/bytes/1000", 1, ""),
        client::request("POST", "/echo?again=1", 2, r#"{"start_ts":5}"#),
        client::request("PUT", "/upload", 3, vec![7; 100_000]),
        typed("/exchange/Diag", 4, Format::Json),
        typed("/submit/Diag", 5, Format::Protobuf),
    ]
}

/// A gRPC client of encoded messages.
pub struct Grpc {
    grpc: tonic::client::Grpc<Channel>,
    authority: String,
}

impl Grpc {
    pub async fn connect(server: &TestServer) -> Self {
        let channel = client::grpc(server.address, &client::tls(server)).await;
        Self {
            grpc: tonic::client::Grpc::new(channel.unwrap()),
            authority: format!("localhost:{}", server.address.port()),
        }
    }

    /// Returns the metadata of a call that sends this message, or chunks if there is none. Also returns the code that
    /// the chunks' codes continue.
    pub fn signed(&self, path: &str, message: Option<&[u8]>, key: &Key) -> (HeaderMap, [u8; 32]) {
        let digest = message.map(sign::content_digest);
        let request = sign::Request {
            method: "POST",
            authority: &self.authority,
            path,
            query: None,
            body: digest.as_deref().map_or(Body::Chunks, Body::Digest),
        };
        let fields = sign(&request, key, now_s());
        let mut headers = HeaderMap::new();
        attach(&mut headers, &fields, digest.as_deref());
        (headers, fields.mac)
    }

    pub async fn unary(
        &mut self,
        path: &'static str,
        message: impl Into<Bytes>,
        metadata: HeaderMap,
    ) -> Result<Bytes, tonic::Status> {
        self.grpc.ready().await.unwrap();
        let mut request = tonic::Request::new(message.into());
        *request.metadata_mut() = MetadataMap::from_headers(metadata);
        let path = PathAndQuery::from_static(path);
        let answer = self.grpc.unary(request, path, PassThrough).await?;
        Ok(answer.into_inner())
    }

    /// Sends encoded chunks on a client stream.
    pub async fn stream(
        &mut self,
        path: &'static str,
        chunks: Vec<Bytes>,
        metadata: HeaderMap,
    ) -> Result<Bytes, tonic::Status> {
        self.grpc.ready().await.unwrap();
        let mut request = tonic::Request::new(futures_util::stream::iter(chunks));
        *request.metadata_mut() = MetadataMap::from_headers(metadata);
        let path = PathAndQuery::from_static(path);
        let answer = self.grpc.client_streaming(request, path, PassThrough);
        Ok(answer.await?.into_inner())
    }
}

/// Encodes chunks with their codes.
pub fn signed_chunks(data: &[Bytes], key: &Key, head: [u8; 32]) -> Vec<Bytes> {
    let mut codes = Chunks::new(key, head);
    let chunks = data.iter().zip((0..data.len()).rev());
    let coded = chunks.map(|(data, left)| chunk(data, &codes.sign(data, left == 0)));
    coded.collect()
}

/// Encodes a chunk of an upload; a part of a submission has the same form.
pub fn chunk(data: &Bytes, code: &[u8]) -> Bytes {
    let chunk = Chunk {
        data: data.clone(),
        code: Bytes::copy_from_slice(code),
    };
    chunk.encode_to_vec().into()
}
