//! Exchanges: decodes a message of the codec bench in any codec, encodes it again, times both.
//!
//! The work is done on the runtime's own thread, where the request is read. A megabyte of gzip
//! blocks it for some 30 ms, but in a cell there is only one client, and handing the work to
//! another thread would add a wake-up to every small request.

use std::cell::RefCell;
use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use tonic::Status;
use tower::service_fn;
use wire::{Codec, Coder, DecodeError, Format, Kind, PassThrough};

use crate::accounting::RequestAccounting;
use crate::clock::monotonic_ns;
use crate::config::Limits;
use crate::rejection::Rejection;

thread_local! {
    /// Keeps zstd's contexts between requests, as its manual advises.
    static CODERS: RefCell<HashMap<Codec, Coder>> = RefCell::default();
}

/// Routes `/exchange/{kind}` and the gRPC service that does the same.
pub(crate) fn router(limits: &Limits) -> Router {
    Router::new()
        .route("/exchange/{kind}", post(over_http))
        .route(&format!("{}/{{kind}}", wire::EXCHANGE), post(over_grpc))
        .with_state(limits.clone())
}

async fn over_http(
    State(limits): State<Limits>,
    Path(kind): Path<String>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    let kind = Kind::find(&kind).ok_or_else(|| Rejection::NotFound(known_kinds()))?;
    let codec = codec_of(request.headers())?;
    let body = Limited::new(request.into_body(), limits.exchange_bytes);
    let body = body
        .collect()
        .await
        .map_err(|error| Rejection::from_body_error(&*error))?;
    let message = body.to_bytes();
    let answer = reencode(codec, kind, &message, limits.exchange_bytes, &accounting);
    let answer = answer.map_err(|error| Rejection::bad_request(&error))?;
    let mut response = Response::builder()
        .header(CONTENT_TYPE, codec.format.content_type())
        .header(CONTENT_LENGTH, answer.len());
    if let Some(token) = codec.compression.content_encoding() {
        response = response.header(CONTENT_ENCODING, token);
    }
    Ok(response
        .body(answer.into())
        .expect("every header consists of digits and fixed text"))
}

async fn over_grpc(
    State(limits): State<Limits>,
    Path(kind): Path<String>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    if !accounting.is_grpc() {
        let text = "this is a gRPC method; over HTTP, use /exchange/{kind}";
        return Err(Rejection::UnsupportedMediaType(text.to_owned()));
    }
    let Some(kind) = Kind::find(&kind) else {
        return Ok(Status::unimplemented(known_kinds()).into_http());
    };
    let max_bytes = limits.exchange_bytes;
    let service = service_fn(move |request: tonic::Request<Bytes>| {
        let message = request.into_inner();
        accounting.add_received(&message);
        let codec = Codec::plain(Format::Protobuf);
        let answer = reencode(codec, kind, &message, max_bytes, &accounting)
            .map_err(|error| Status::invalid_argument(error.to_string()));
        if let Ok(answer) = &answer {
            accounting.add_sent(answer);
        }
        std::future::ready(answer.map(tonic::Response::new))
    });
    let mut grpc = tonic::server::Grpc::new(PassThrough).max_decoding_message_size(max_bytes);
    Ok(grpc.unary(service, request).await.map(Body::new))
}

/// Decodes a message and encodes it again, and reports how long each took.
fn reencode(
    codec: Codec,
    kind: Kind,
    message: &[u8],
    max_bytes: usize,
    accounting: &RequestAccounting,
) -> Result<Bytes, DecodeError> {
    CODERS.with_borrow_mut(|coders| {
        let coder = coders.entry(codec).or_insert_with(|| codec.coder());
        let start_ns = monotonic_ns();
        let message = coder.decode_within(kind, message, max_bytes)?;
        let decoded_ns = monotonic_ns();
        let answer = coder.encode(&message);
        let encoded_ns = monotonic_ns();
        accounting.record_exchange(codec, decoded_ns - start_ns, encoded_ns - decoded_ns);
        Ok(answer.into())
    })
}

fn codec_of(headers: &HeaderMap) -> Result<Codec, Rejection> {
    // Names of codecs are ASCII, so a value that is not names none.
    let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let kind = text(CONTENT_TYPE).unwrap_or_default();
    Codec::from_headers(kind, text(CONTENT_ENCODING))
        .map_err(|error| Rejection::UnsupportedMediaType(error.to_string()))
}

fn known_kinds() -> String {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    format!("unknown kind of message; use one of {}", names.join(", "))
}
