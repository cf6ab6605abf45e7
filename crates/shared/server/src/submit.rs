//! Submissions: a message one way, which is decoded, and a receipt of a few bytes the other.

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body_util::{BodyExt, Limited};
use messages::bench::{Part, Receipt};
use messages::{Codec, DecodeError, Format, Kind, PassThrough};
use prost::Message as _;
use serde::Serialize;
use sign::Verified;
use tonic::{Status, Streaming};
use tower::service_fn;

use crate::accounting::RequestAccounting;
use crate::auth::SignedChunks;
use crate::codec_pool::CodecPool;
use crate::config::Limits;
use crate::exchange;
use crate::json::json;
use crate::rejection::Rejection;

/// The one kind of message that is submitted.
const KIND: Kind = Kind::Diag;
/// The codec of gRPC.
const PROTOBUF: Codec = Codec::plain(Format::Protobuf);
/// What a part has besides its data: tags, lengths and a code of 32 bytes.
const PART_OVERHEAD_BYTES: usize = 64;

#[derive(Clone)]
struct Submissions {
    pool: CodecPool,
    limits: Limits,
}

/// Routes `/submit/Diag` and the gRPC service that does the same.
pub(crate) fn router(pool: CodecPool, limits: &Limits) -> Router {
    Router::new()
        .route("/submit/Diag", post(over_http))
        .route(&format!("{}/Diag", messages::SUBMIT), post(over_grpc))
        .route(&format!("{}/DiagStream", messages::SUBMIT), post(in_parts))
        .with_state(Submissions {
            pool,
            limits: limits.clone(),
        })
}

/// The answer over HTTP.
#[derive(Serialize)]
struct JsonReceipt {
    bytes: u64,
}

async fn over_http(
    State(submissions): State<Submissions>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    let codec = exchange::codec_of(request.headers())?;
    let body = Limited::new(request.into_body(), submissions.limits.exchange_bytes);
    let body = body
        .collect()
        .await
        .map_err(|error| Rejection::from_body_error(&*error))?;
    let message = body.to_bytes();
    let bytes = message.len() as u64;
    let decode_ns = submissions.decode(codec, message).await;
    let decode_ns = decode_ns.map_err(|error| Rejection::bad_request(&error))?;
    accounting.record_codec(codec, decode_ns, None);
    let receipt = serde_json::to_vec(&JsonReceipt { bytes });
    Ok(json(receipt.expect("a number has a JSON form")))
}

async fn over_grpc(
    State(submissions): State<Submissions>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    let mut grpc = grpc(&accounting, submissions.limits.exchange_bytes)?;
    let service = service_fn(move |request: tonic::Request<Bytes>| {
        let (submissions, accounting) = (submissions.clone(), accounting.clone());
        async move {
            let message = request.into_inner();
            accounting.add_received(&message);
            let bytes = message.len() as u64;
            let decode_ns = submissions.decode(PROTOBUF, message).await;
            let decode_ns = decode_ns.map_err(|error| invalid(&error))?;
            accounting.record_codec(PROTOBUF, decode_ns, None);
            Ok(receipt(bytes, &accounting))
        }
    });
    Ok(grpc.unary(service, request).await.map(Body::new))
}

/// Decodes each part on its own, so that no more than one is held at a time.
async fn in_parts(
    State(submissions): State<Submissions>,
    Extension(accounting): Extension<RequestAccounting>,
    verified: Option<Extension<Verified>>,
    request: Request,
) -> Result<Response, Rejection> {
    let part_bytes = submissions.limits.exchange_bytes + PART_OVERHEAD_BYTES;
    let mut grpc = grpc(&accounting, part_bytes)?;
    let service = service_fn(move |request: tonic::Request<Streaming<Bytes>>| {
        let (submissions, accounting) = (submissions.clone(), accounting.clone());
        let verified = verified.clone();
        async move {
            let parts = request.into_inner().and_then(async |part| {
                let part = Part::decode(part).map_err(|error| invalid(&error))?;
                Ok((Bytes::from(part.data), Bytes::from(part.code)))
            });
            let verified = verified.as_ref().map(|Extension(verified)| verified);
            let parts = Box::pin(parts);
            let mut parts = SignedChunks::begin(parts, verified, accounting.clone()).await?;
            let (mut bytes, mut decode_ns) = (0, 0);
            while let Some(data) = parts.next().await? {
                accounting.add_received(&data);
                bytes += data.len() as u64;
                if bytes > submissions.limits.submit_bytes {
                    let most = submissions.limits.submit_bytes;
                    let text = format!("a submission has at most {most} bytes");
                    return Err(Status::resource_exhausted(text));
                }
                let took = submissions.decode(PROTOBUF, data).await;
                decode_ns += took.map_err(|error| invalid(&error))?;
            }
            accounting.record_codec(PROTOBUF, decode_ns, None);
            Ok(receipt(bytes, &accounting))
        }
    });
    let answer = grpc.client_streaming(service, request).await;
    Ok(answer.map(Body::new))
}

impl Submissions {
    /// Decodes a message and returns how long that took, in ns.
    async fn decode(&self, codec: Codec, message: Bytes) -> Result<u64, DecodeError> {
        let limits = self.limits.clone();
        self.pool
            .run(move |coders| {
                let decoded = exchange::decode(coders, codec, KIND, &message, &limits);
                decoded.map(|(_, decode_ns)| decode_ns)
            })
            .await
    }
}

fn grpc(
    accounting: &RequestAccounting,
    max_bytes: usize,
) -> Result<tonic::server::Grpc<PassThrough>, Rejection> {
    if !accounting.is_grpc() {
        let text = "this is a gRPC method; over HTTP, use /submit/Diag";
        return Err(Rejection::UnsupportedMediaType(text.to_owned()));
    }
    Ok(tonic::server::Grpc::new(PassThrough).max_decoding_message_size(max_bytes))
}

fn receipt(bytes: u64, accounting: &RequestAccounting) -> tonic::Response<Bytes> {
    let receipt = Receipt { bytes }.encode_to_vec();
    accounting.add_sent(&receipt);
    tonic::Response::new(receipt.into())
}

fn invalid(error: &impl ToString) -> Status {
    Status::invalid_argument(error.to_string())
}
