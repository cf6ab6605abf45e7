//! The routes, the same over every protocol.

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post, put};
use http_body_util::{BodyExt, Limited};
use messages::Echo;
use messages::v1::bench_server::BenchServer;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::codec_pool::CodecPool;
use crate::config::Limits;
use crate::exchange;
use crate::files::{self, FileBody, RequestedRange};
use crate::grpc::Bench;
use crate::json::json;
use crate::rejection::Rejection;
use crate::submit;

/// Returns all routes, including gRPC's.
pub(crate) fn router(limits: &Limits) -> Router {
    let http = Router::new()
        .route("/health", get(async || "ok\n"))
        .route("/echo", post(echo))
        .route("/bytes/{bytes}", get(bytes))
        .route("/upload", put(upload))
        .with_state(limits.clone());
    let grpc = BenchServer::new(Bench::new(limits.file_bytes))
        .max_decoding_message_size(limits.message_bytes);
    let grpc = tonic::service::Routes::new(grpc)
        .prepare()
        .into_axum_router();
    let pool = CodecPool::per_core();
    http.merge(grpc.reset_fallback())
        .merge(exchange::router(pool.clone(), limits))
        .merge(submit::router(pool, limits))
}

/// Parses the message and encodes it again.
async fn echo(State(limits): State<Limits>, request: Request) -> Result<Response, Rejection> {
    let body = Limited::new(request.into_body(), limits.message_bytes);
    let body = body
        .collect()
        .await
        .map_err(|error| Rejection::from_body_error(&*error))?;
    let echo = Echo::from_json(&body.to_bytes()).map_err(|error| Rejection::bad_request(&error))?;
    Ok(json(echo.to_json()))
}

/// Sends the first `len` bytes of the seeded file, or a range of them.
async fn bytes(
    State(limits): State<Limits>,
    Path(len): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Rejection> {
    if len > limits.file_bytes {
        let text = format!("files have at most {} bytes", limits.file_bytes);
        return Err(Rejection::NotFound(text));
    }
    // Files differ by their length only.
    let etag = format!("\"{len:x}\"");
    let (status, range) = match files::requested_range(&headers, len, &etag) {
        RequestedRange::Whole => (StatusCode::OK, 0..len),
        RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RequestedRange::Unsatisfiable => {
            return Err(Rejection::RangeNotSatisfiable { file_bytes: len });
        }
    };
    let mut response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(ACCEPT_RANGES, "bytes")
        .header(ETAG, etag)
        .header(CONTENT_LENGTH, range.end - range.start);
    if status == StatusCode::PARTIAL_CONTENT {
        let last = range.end - 1;
        response = response.header(CONTENT_RANGE, format!("bytes {}-{last}/{len}", range.start));
    }
    let body = Body::new(FileBody::new(range));
    Ok(response
        .body(body)
        .expect("every header consists of digits and fixed text"))
}

/// The answer to an upload.
#[derive(Serialize)]
struct UploadSummary {
    bytes: u64,
    sha256: String,
}

/// Counts and digests the body.
async fn upload(State(limits): State<Limits>, request: Request) -> Result<Response, Rejection> {
    let mut body = request.into_body();
    if body.size_hint().lower() > limits.body_bytes {
        return Err(Rejection::BodyTooLarge);
    }
    let mut bytes = 0;
    let mut sha = Sha256::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Rejection::from_body_error(&error))?;
        if let Ok(data) = frame.into_data() {
            bytes += data.len() as u64;
            sha.update(&data);
        }
    }
    let summary = UploadSummary {
        bytes,
        sha256: messages::hex(&sha.finalize()),
    };
    Ok(json(
        serde_json::to_vec(&summary).expect("numbers and strings have a JSON form"),
    ))
}
