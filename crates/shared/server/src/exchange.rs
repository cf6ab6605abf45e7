//! Exchanges: decodes a message of the codec bench in any codec, encodes it again, times both.

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use messages::{Codec, DecodeError, Format, Kind, Message, PassThrough};
use tonic::Status;
use tower::service_fn;

use crate::accounting::RequestAccounting;
use crate::clock::monotonic_ns;
use crate::codec_pool::{CodecPool, Coders};
use crate::config::Limits;
use crate::rejection::Rejection;

#[derive(Clone)]
struct Exchanges {
    pool: CodecPool,
    limits: Limits,
}

/// Routes `/exchange/{kind}` and the gRPC service that does the same.
pub(crate) fn router(pool: CodecPool, limits: &Limits) -> Router {
    Router::new()
        .route("/exchange/{kind}", post(over_http))
        .route(&format!("{}/{{kind}}", messages::EXCHANGE), post(over_grpc))
        .with_state(Exchanges {
            pool,
            limits: limits.clone(),
        })
}

async fn over_http(
    State(exchanges): State<Exchanges>,
    Path(kind): Path<String>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    let kind = Kind::find(&kind).ok_or_else(|| Rejection::NotFound(known_kinds()))?;
    let codec = codec_of(request.headers())?;
    let body = Limited::new(request.into_body(), exchanges.limits.exchange_bytes);
    let body = body
        .collect()
        .await
        .map_err(|error| Rejection::from_body_error(&*error))?;
    let message = body.to_bytes();
    let answer = exchanges.reencode(codec, kind, message, accounting).await;
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
    State(exchanges): State<Exchanges>,
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
    let max_bytes = exchanges.limits.exchange_bytes;
    let service = service_fn(move |request: tonic::Request<Bytes>| {
        let (exchanges, accounting) = (exchanges.clone(), accounting.clone());
        let message = request.into_inner();
        async move {
            accounting.add_received(&message);
            let codec = Codec::plain(Format::Protobuf);
            let answer = exchanges.reencode(codec, kind, message, accounting.clone());
            let answer = answer
                .await
                .map_err(|error| Status::invalid_argument(error.to_string()))?;
            accounting.add_sent(&answer);
            Ok(tonic::Response::new(answer))
        }
    });
    let mut grpc = tonic::server::Grpc::new(PassThrough).max_decoding_message_size(max_bytes);
    Ok(grpc.unary(service, request).await.map(Body::new))
}

impl Exchanges {
    /// Decodes a message and encodes it again, and records how long each took.
    async fn reencode(
        &self,
        codec: Codec,
        kind: Kind,
        message: Bytes,
        accounting: RequestAccounting,
    ) -> Result<Bytes, DecodeError> {
        let limits = self.limits.clone();
        self.pool
            .run(move |coders| reencode(coders, codec, kind, &message, &limits, &accounting))
            .await
    }
}

fn reencode(
    coders: &mut Coders,
    codec: Codec,
    kind: Kind,
    message: &[u8],
    limits: &Limits,
    accounting: &RequestAccounting,
) -> Result<Bytes, DecodeError> {
    let (message, decode_ns) = decode(coders, codec, kind, message, limits)?;
    let decoded_ns = monotonic_ns();
    let answer = coders.coder(codec).encode(&message);
    let encode_ns = monotonic_ns() - decoded_ns;
    accounting.record_codec(codec, decode_ns, Some(encode_ns));
    Ok(answer.into())
}

/// Decodes a message, and returns with it how long that took, decompression included.
pub(crate) fn decode(
    coders: &mut Coders,
    codec: Codec,
    kind: Kind,
    message: &[u8],
    limits: &Limits,
) -> Result<(Message, u64), DecodeError> {
    let coder = coders.coder(codec);
    let start_ns = monotonic_ns();
    let plain = coder.decompress(message, limits.exchange_bytes)?;
    let decompressed_ns = monotonic_ns();
    // Not timed: clients have no such check.
    codec
        .format
        .check_elements(&plain, limits.exchange_elements)?;
    let checked_ns = monotonic_ns();
    let message = codec.format.decode_message(kind, &plain)?;
    let decode_ns = decompressed_ns - start_ns + monotonic_ns() - checked_ns;
    Ok((message, decode_ns))
}

/// Returns the codec that a request's headers name.
pub(crate) fn codec_of(headers: &HeaderMap) -> Result<Codec, Rejection> {
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
