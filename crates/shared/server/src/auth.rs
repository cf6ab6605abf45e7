//! Authentication: every request but those for `/health` must carry a token or a signature.
//!
//! A token is checked when the head has been read, and so is the head's signature. The digest of a body is checked at
//! its end, before its reader learns that it has ended. The chunks of a gRPC client stream are checked one by one
//! ([`SignedChunks`]).

mod signed;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST};
use http_body_util::BodyExt;
use ring::rand::{SecureRandom, SystemRandom};
use sign::{Key, Keys, Refusal, Verified, Verifier};
use tonic::Status;

use crate::accounting::RequestAccounting;
use crate::clock::monotonic_ns;
use crate::credentials::{self, CredentialsError, Secret};
use crate::rejection::Rejection;
use crate::scheme::AuthScheme;
use crate::token::{Claims, Issuer, TokenVerifier};
use signed::SignedBody;

pub(crate) use signed::SignedChunks;

/// The id of the key that requests are signed with.
pub const KEY_ID: &str = "commute-1";
/// The one path that anybody may request.
const OPEN_PATH: &str = "/health";
/// gRPC client streams, which are signed chunk by chunk.
const CLIENT_STREAMS: [&str; 2] = [
    "/commute.v1.Bench/Upload",
    "/commute.bench.v1.Submit/DiagStream",
];
/// A stream in both directions, which has no end to sign before its answers begin.
const UNSIGNABLE: &str = "/commute.v1.Bench/Chat";
const TOKEN_VALID_S: u64 = 3600;
const HMAC_KEY_BYTES: usize = 32;

/// Checks requests, of all connections.
pub(crate) enum Authenticator {
    Jwt(TokenVerifier),
    Hmac(Mutex<Verifier>),
}

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
                let framed = accounting.is_grpc();
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
                let mut body = SignedBody::new(body, verified, framed, accounting);
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

/// Makes a router demand what `authenticator` checks.
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
