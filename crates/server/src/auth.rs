//! Who sends a request: every one but those for `/health` must carry a token or a signature.
//!
//! A token is checked when the head has been read, and so is the head's signature. The digest of a
//! body is checked at its end, before its reader learns that it has ended; the chunks of a gRPC client
//! stream are checked one by one ([`SignedChunks`]).

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use sign::{Chunks, Key, Keys, Refusal, Verified, Verifier};
use tonic::Status;

use crate::accounting::RequestAccounting;
use crate::clock::monotonic_ns;
use crate::credentials::{self, CredentialsError};
use crate::rejection::Rejection;
use crate::token::{Claims, Issuer, TokenVerifier};

/// The id of the key that requests are signed with.
pub const KEY_ID: &str = "commute-1";
/// The one path that anybody may request.
const OPEN_PATH: &str = "/health";
/// How the paths of all gRPC methods begin.
const GRPC_PREFIX: &str = "/commute.";
/// gRPC client streams, which are signed chunk by chunk.
const CLIENT_STREAMS: [&str; 2] = [
    "/commute.v1.Bench/Upload",
    "/commute.bench.v1.Submit/DiagStream",
];
/// A stream in both directions, which has no end to sign before its answers begin.
const UNSIGNABLE: &str = "/commute.v1.Bench/Chat";
/// A flag and the length, before each gRPC message.
const GRPC_HEAD_BYTES: usize = 5;
const TOKEN_VALID_S: u64 = 3600;
const HMAC_KEY_BYTES: usize = 32;

/// How a request proves who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthScheme {
    /// By a token (RFC 7519) that an RSA key signed.
    Jwt,
    /// By a signature (RFC 9421) over head and body with a shared secret.
    Hmac,
}

impl AuthScheme {
    /// Returns its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jwt => "jwt",
            Self::Hmac => "hmac",
        }
    }

    /// Returns what `www-authenticate` says, which clients expect of status 401.
    pub(crate) fn challenge(self) -> &'static str {
        match self {
            Self::Jwt => "Bearer",
            Self::Hmac => "Signature",
        }
    }
}

/// Checks requests, of all connections.
pub(crate) enum Authenticator {
    Jwt(TokenVerifier),
    Hmac(Mutex<Verifier>),
}

/// What clients need to authenticate: a line of text, and the name of its file.
pub(crate) struct Secret {
    pub(crate) file: &'static str,
    pub(crate) line: String,
}

/// The body, or a chunk, is not the one that was signed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Forged(pub(crate) Refusal);

impl Authenticator {
    /// Makes fresh keys.
    pub(crate) fn generate(
        scheme: AuthScheme,
        nonces: usize,
    ) -> Result<(Self, Secret), CredentialsError> {
        match scheme {
            AuthScheme::Jwt => {
                let failed =
                    |error: &dyn std::fmt::Display| CredentialsError::Rsa(error.to_string());
                let issuer = Issuer::new(&credentials::rsa_pkcs8()?).map_err(|e| failed(&e))?;
                let iat = now_s();
                let exp = iat + TOKEN_VALID_S;
                let line = issuer.issue(&Claims { iat, exp }).map_err(|e| failed(&e))?;
                let file = "token.jwt";
                Ok((Self::Jwt(issuer.verifier()), Secret { file, line }))
            }
            AuthScheme::Hmac => {
                let mut secret = [0; HMAC_KEY_BYTES];
                let filled = SystemRandom::new().fill(&mut secret);
                filled.map_err(|_| CredentialsError::Random)?;
                let key = Key::new(KEY_ID, &secret).expect("the id and the length are valid");
                let verifier = Verifier::new(Keys::from([key]), nonces);
                let line = STANDARD.encode(secret);
                let file = "hmac.key";
                Ok((Self::Hmac(Mutex::new(verifier)), Secret { file, line }))
            }
        }
    }

    fn scheme(&self) -> AuthScheme {
        match self {
            Self::Jwt(_) => AuthScheme::Jwt,
            Self::Hmac(_) => AuthScheme::Hmac,
        }
    }

    async fn pass(&self, request: Request, next: Next) -> Response {
        if request.uri().path() == OPEN_PATH {
            return next.run(request).await;
        }
        let accounting = request.extensions().get::<RequestAccounting>().cloned();
        let accounting = accounting.expect("`Shared::answer` attaches it to every request");
        let grpc = accounting.is_grpc();
        match self.admit(request, accounting).await {
            Ok(request) => next.run(request).await,
            Err(Rejection::Unauthenticated(_, reason)) if grpc => {
                Status::unauthenticated(reason).into_http()
            }
            Err(rejection) => rejection.into_response(),
        }
    }

    /// Checks the head, and prepares the check of the body.
    async fn admit(
        &self,
        mut request: Request,
        accounting: RequestAccounting,
    ) -> Result<Request, Rejection> {
        let start_ns = monotonic_ns();
        let refused = |reason: String| Rejection::Unauthenticated(self.scheme(), reason);
        match self {
            Self::Jwt(verifier) => {
                let token = bearer(request.headers()).ok_or_else(|| {
                    refused("one header `authorization: Bearer TOKEN` is needed".to_owned())
                })?;
                let verified = verifier.verify(token, now_s());
                verified.map_err(|bad| refused(bad.to_string()))?;
                accounting.add_verify_time(start_ns);
                accounting.record_auth(AuthScheme::Jwt);
                Ok(request)
            }
            Self::Hmac(verifier) => {
                let path = request.uri().path();
                if path == UNSIGNABLE {
                    return Err(refused(
                        "a stream in both directions cannot be signed".to_owned(),
                    ));
                }
                let streamed = CLIENT_STREAMS.contains(&path);
                let framed = path.starts_with(GRPC_PREFIX);
                let verified = verify_head(verifier, &request, streamed);
                let verified = verified.map_err(|refusal| refused(refusal.to_string()))?;
                accounting.add_verify_time(start_ns);
                if streamed {
                    request.extensions_mut().insert(verified);
                    return Ok(request);
                }
                // Nobody else would read the body of such a request to its end.
                let unread = request.method().is_safe();
                let (head, body) = request.into_parts();
                let mut body = SignedBody {
                    body,
                    check: Some(BodyCheck {
                        verified,
                        sha: Sha256::new(),
                        bytes: 0,
                        grpc_head: framed.then(Vec::new),
                    }),
                    accounting,
                };
                if unread {
                    while let Some(frame) = body.frame().await {
                        frame.map_err(|error| Rejection::from_body_error(&error))?;
                    }
                }
                Ok(Request::from_parts(head, Body::new(body)))
            }
        }
    }
}

/// Makes a router ask for what `authenticator` checks.
pub(crate) fn require(router: Router, authenticator: Option<Authenticator>) -> Router {
    let Some(authenticator) = authenticator else {
        return router;
    };
    let authenticator = Arc::new(authenticator);
    router.layer(from_fn(move |request: Request, next: Next| {
        let authenticator = authenticator.clone();
        async move { authenticator.pass(request, next).await }
    }))
}

/// Returns the token of the one `authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then_some(token)
}

/// Returns the value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn verify_head(
    verifier: &Mutex<Verifier>,
    request: &Request,
    streamed: bool,
) -> Result<Verified, Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    let field = |name| only(headers, name).ok_or(Refusal::Malformed(name));
    let authority = match uri.authority() {
        Some(authority) => authority.as_str(),
        None => field(HOST.as_str()).map_err(|_| Refusal::Malformed("host"))?,
    };
    let signed = sign::Request {
        method: request.method().as_str(),
        authority: &authority.to_ascii_lowercase(),
        path: uri.path(),
        query: uri.query(),
        body: match streamed {
            true => sign::Body::Chunks,
            false => sign::Body::Digest(field("content-digest")?),
        },
    };
    let (input, signature) = (field("signature-input")?, field("signature")?);
    // Poisoned only by a panic inside, which cannot make it remember less.
    let mut verifier = verifier.lock().unwrap_or_else(PoisonError::into_inner);
    verifier.verify(&signed, input, signature, now_s())
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A request's body that fails at its end if its digest is not the signed one.
struct SignedBody {
    body: Body,
    /// None once it was made.
    check: Option<BodyCheck>,
    accounting: RequestAccounting,
}

struct BodyCheck {
    verified: Verified,
    sha: Sha256,
    /// Bytes digested.
    bytes: u64,
    /// Over gRPC, what has arrived of the head of the one message, which is not signed.
    grpc_head: Option<Vec<u8>>,
}

impl BodyCheck {
    fn add(&mut self, mut data: &[u8]) {
        if let Some(head) = &mut self.grpc_head {
            let missing = GRPC_HEAD_BYTES - head.len();
            let (more, rest) = data.split_at(missing.min(data.len()));
            head.extend_from_slice(more);
            data = rest;
        }
        self.bytes += data.len() as u64;
        self.sha.update(data);
    }

    fn finish(self) -> Result<(), Refusal> {
        // Otherwise what is decoded could be less than what is signed.
        if let Some(head) = self.grpc_head {
            let whole = [&[0], &(self.bytes as u32).to_be_bytes()[..]].concat();
            if head != whole {
                return Err(Refusal::Digest);
            }
        }
        self.verified.check_body(&self.sha.finalize().into())
    }
}

impl HttpBody for SignedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()?;
        let start_ns = monotonic_ns();
        let this = &mut *self;
        match frame.as_ref().and_then(Frame::data_ref) {
            Some(data) => {
                if let Some(check) = &mut this.check {
                    check.add(data);
                    this.accounting.add_verify_time(start_ns);
                }
            }
            // The end, or trailers, after which a reader may not ask again.
            None => {
                if let Some(check) = this.check.take() {
                    let checked = check.finish();
                    this.accounting.add_verify_time(start_ns);
                    if let Err(refusal) = checked {
                        return Poll::Ready(Some(Err(this.forged(refusal))));
                    }
                    this.accounting.record_auth(AuthScheme::Hmac);
                }
            }
        }
        Poll::Ready(frame.map(Ok))
    }

    /// Nothing may be left out before the check.
    fn is_end_stream(&self) -> bool {
        self.check.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl SignedBody {
    /// Returns the error from which the reader, tonic or a route, makes the right answer.
    fn forged(&self, refusal: Refusal) -> axum::Error {
        match self.accounting.is_grpc() {
            true => axum::Error::new(unauthenticated(&refusal)),
            false => axum::Error::new(Forged(refusal)),
        }
    }
}

fn unauthenticated(refusal: &Refusal) -> Status {
    Status::unauthenticated(refusal.to_string())
}

/// The data of a client stream's chunks. Of a signed stream, each is returned once its code is verified,
/// which takes knowing whether another follows.
pub(crate) struct SignedChunks<S> {
    stream: S,
    accounting: RequestAccounting,
    signed: Option<Signed>,
}

struct Signed {
    codes: Chunks,
    next: Option<Chunk>,
}

/// A chunk's data and code.
type Chunk = (Bytes, Bytes);

impl<S: Stream<Item = Result<Chunk, Status>> + Unpin> SignedChunks<S> {
    /// Begins to read a stream; `verified` is what the request's extensions hold if it is signed.
    pub(crate) async fn begin(
        mut stream: S,
        verified: Option<&Verified>,
        accounting: RequestAccounting,
    ) -> Result<Self, Status> {
        let signed = match verified {
            None => None,
            Some(verified) => {
                // A stream without chunks has no code of a last one.
                let first = stream.try_next().await?;
                let first = first.ok_or_else(|| unauthenticated(&Refusal::Chunk(0)))?;
                Some(Signed {
                    codes: Chunks::new(&verified.key, verified.mac),
                    next: Some(first),
                })
            }
        };
        Ok(Self {
            stream,
            accounting,
            signed,
        })
    }

    /// Returns the data of the next chunk.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(signed) = &mut self.signed else {
            return Ok(self.stream.try_next().await?.map(|(data, _)| data));
        };
        let Some((data, code)) = signed.next.take() else {
            return Ok(None);
        };
        signed.next = self.stream.try_next().await?;
        let last = signed.next.is_none();
        let start_ns = monotonic_ns();
        let verified = signed.codes.verify(&data, last, &code);
        self.accounting.add_verify_time(start_ns);
        verified.map_err(|refusal| unauthenticated(&refusal))?;
        if last {
            self.accounting.record_auth(AuthScheme::Hmac);
        }
        Ok(Some(data))
    }
}
