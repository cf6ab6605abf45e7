//! What the server answers, the same over every protocol.

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use sha2::{Digest, Sha256};
use wire::Echo;
use wire::v1::bench_server::BenchServer;

use crate::account::BodyError;
use crate::config::Limits;
use crate::exchange;
use crate::files::{self, FileBody, Wanted};
use crate::grpc::Bench;

/// All routes, gRPC among them.
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
    http.merge(grpc.reset_fallback())
        .merge(exchange::router(limits))
}

/// Why a request gets no answer of the kind it asked for.
pub(crate) enum Refusal {
    NoMessage(wire::EchoError),
    NoSuchKind,
    NoSuchCodec(wire::MediaError),
    NotGrpc,
    Undecodable(wire::DecodeError),
    TooLong,
    NoSuchFile { most: u64 },
    NoSuchPart { len: u64 },
    Unread(axum::BoxError),
}

/// The small call: the message, read and written anew.
async fn echo(State(limits): State<Limits>, request: Request) -> Result<Response, Refusal> {
    let body = Limited::new(request.into_body(), limits.message_bytes);
    let body = body.collect().await.map_err(Refusal::of)?.to_bytes();
    let echo = Echo::from_json(&body).map_err(Refusal::NoMessage)?;
    Ok(json(echo.to_json()))
}

/// A file of any length, or a part of it.
async fn bytes(
    State(limits): State<Limits>,
    Path(len): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if len > limits.file_bytes {
        return Err(Refusal::NoSuchFile {
            most: limits.file_bytes,
        });
    }
    let (status, range) = match files::wanted(&headers, len) {
        Wanted::Whole => (StatusCode::OK, 0..len),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Beyond => return Err(Refusal::NoSuchPart { len }),
    };
    let mut response = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(ACCEPT_RANGES, "bytes")
        .header(CONTENT_LENGTH, range.end - range.start);
    if status == StatusCode::PARTIAL_CONTENT {
        let last = range.end - 1;
        response = response.header(CONTENT_RANGE, format!("bytes {}-{last}/{len}", range.start));
    }
    let body = Body::new(FileBody::new(range));
    Ok(response
        .body(body)
        .expect("every header is made of digits and fixed text"))
}

/// What an upload came to.
#[derive(Serialize)]
struct Uploaded {
    bytes: u64,
    sha256: String,
}

/// Counts and digests the body.
async fn upload(State(limits): State<Limits>, request: Request) -> Result<Response, Refusal> {
    let mut body = request.into_body();
    if body.size_hint().lower() > limits.body_bytes {
        return Err(Refusal::TooLong);
    }
    let mut bytes = 0;
    let mut sha = Sha256::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame
            .map_err(|error| Refusal::of(error.into()))?
            .into_data()
        {
            bytes += data.len() as u64;
            sha.update(&data);
        }
    }
    let uploaded = Uploaded {
        bytes,
        sha256: wire::hex(&sha.finalize()),
    };
    Ok(json(
        serde_json::to_vec(&uploaded).expect("numbers and strings have a JSON form"),
    ))
}

fn json(text: Vec<u8>) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_LENGTH, text.len().to_string()),
    ];
    (headers, text).into_response()
}

impl Refusal {
    pub(crate) fn of(error: axum::BoxError) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
        while let Some(error) = cause {
            if error.is::<LengthLimitError>()
                || matches!(error.downcast_ref(), Some(BodyError::TooLong))
            {
                return Self::TooLong;
            }
            cause = error.source();
        }
        Self::Unread(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::NoMessage(error) => (StatusCode::BAD_REQUEST, error.to_string()),
            Self::NoSuchKind => (StatusCode::NOT_FOUND, exchange::kinds()),
            Self::NoSuchCodec(error) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, error.to_string()),
            Self::NotGrpc => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "this is a gRPC method; over HTTP it is /exchange/{kind}".to_owned(),
            ),
            Self::Undecodable(error) => (StatusCode::BAD_REQUEST, error.to_string()),
            Self::Unread(error) => (StatusCode::BAD_REQUEST, format!("body not read: {error}")),
            Self::TooLong => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "the body is longer than this server takes".to_owned(),
            ),
            Self::NoSuchFile { most } => (
                StatusCode::NOT_FOUND,
                format!("files have at most {most} bytes"),
            ),
            Self::NoSuchPart { len } => {
                let range = [(CONTENT_RANGE, format!("bytes */{len}"))];
                let text = format!("the file has {len} bytes\n");
                return (StatusCode::RANGE_NOT_SATISFIABLE, range, text).into_response();
            }
        };
        (status, text + "\n").into_response()
    }
}
