//! Any message of the codec bench in any form: decoded, encoded anew, and both timed.
//!
//! The work is done where the request is read, on the runtime's own thread. A megabyte of
//! gzip holds it up for some 30 ms; in a cell only one client asks, and handing the work to
//! another thread would add a wake-up to every small call to spare nobody anything.

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
use wire::{Codec, Coder, DecodeError, Form, Kind, PassThrough};

use crate::account::Account;
use crate::clock::monotonic_ns;
use crate::config::Limits;
use crate::routes::Refusal;

/// `/exchange/{kind}`, and the same over gRPC.
pub(crate) fn router(limits: &Limits) -> Router {
    Router::new()
        .route("/exchange/{kind}", post(over_http))
        .route(&format!("{}/{{kind}}", wire::EXCHANGE), post(over_grpc))
        .with_state(limits.clone())
}

async fn over_http(
    State(limits): State<Limits>,
    Path(kind): Path<String>,
    Extension(account): Extension<Account>,
    request: Request,
) -> Result<Response, Refusal> {
    let kind = Kind::find(&kind).ok_or(Refusal::NoSuchKind)?;
    let codec = codec_of(request.headers())?;
    let body = Limited::new(request.into_body(), limits.exchange_bytes);
    let body = body.collect().await.map_err(Refusal::of)?.to_bytes();
    let answer = anew(codec, kind, &body, limits.exchange_bytes, &account);
    let answer = answer.map_err(Refusal::Undecodable)?;
    let mut response = Response::builder()
        .header(CONTENT_TYPE, codec.form.media_type())
        .header(CONTENT_LENGTH, answer.len());
    if let Some(token) = codec.compression.token() {
        response = response.header(CONTENT_ENCODING, token);
    }
    Ok(response
        .body(answer.into())
        .expect("every header is made of digits and fixed text"))
}

async fn over_grpc(
    State(limits): State<Limits>,
    Path(kind): Path<String>,
    Extension(account): Extension<Account>,
    request: Request,
) -> Result<Response, Refusal> {
    if !account.is_grpc() {
        return Err(Refusal::NotGrpc);
    }
    let Some(kind) = Kind::find(&kind) else {
        return Ok(Status::unimplemented(kinds()).into_http());
    };
    let most = limits.exchange_bytes;
    let service = service_fn(move |request: tonic::Request<Bytes>| {
        let message = request.into_inner();
        account.received(&message);
        let answer = anew(Codec::plain(Form::Protobuf), kind, &message, most, &account)
            .map_err(|error| Status::invalid_argument(error.to_string()));
        if let Ok(answer) = &answer {
            account.sent(answer);
        }
        std::future::ready(answer.map(tonic::Response::new))
    });
    let mut grpc = tonic::server::Grpc::new(PassThrough).max_decoding_message_size(most);
    Ok(grpc.unary(service, request).await.map(Body::new))
}

/// Decodes and encodes; the account is told how long each took.
fn anew(
    codec: Codec,
    kind: Kind,
    bytes: &[u8],
    most: usize,
    account: &Account,
) -> Result<Bytes, DecodeError> {
    CODERS.with_borrow_mut(|coders| {
        let coder = coders.entry(codec).or_insert_with(|| codec.coder());
        let begun_ns = monotonic_ns();
        let message = coder.decode_within(kind, bytes, most)?;
        let decoded_ns = monotonic_ns();
        let answer = coder.encode(&message);
        let encoded_ns = monotonic_ns();
        account.exchanged(codec, decoded_ns - begun_ns, encoded_ns - decoded_ns);
        Ok(answer.into())
    })
}

thread_local! {
    /// Compression contexts are kept from request to request, as their manuals advise.
    static CODERS: RefCell<HashMap<Codec, Coder>> = RefCell::default();
}

fn codec_of(headers: &HeaderMap) -> Result<Codec, Refusal> {
    // What is not ASCII is no name of ours either.
    let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let kind = text(CONTENT_TYPE).unwrap_or_default();
    Codec::of_media(kind, text(CONTENT_ENCODING)).map_err(Refusal::NoSuchCodec)
}

/// What may be exchanged.
pub(crate) fn kinds() -> String {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    format!("the kinds of message are {}", names.join(", "))
}
