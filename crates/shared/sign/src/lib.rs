//! Signed requests: HTTP Message Signatures (RFC 9421) with `hmac-sha256`, and Content-Digest (RFC
//! 9530), for HTTP and for gRPC.
//!
//! Client and server share a secret [`Key`] under an id. The client signs method, authority, path, query and the digest
//! of the body, together with the time and a nonce ([`Request::sign`]). The server's [`Verifier`] computes the same
//! code and compares it in constant time. Then it refuses a request that is older than its window, from the future, or
//! was seen before. What it returns, [`Verified`], holds the digest that the body must turn out to have.
//!
//! A stream has no digest when its head is sent. It is signed without one, and each chunk carries a code that continues
//! the head's signature ([`Chunks`]). Chunks cannot be changed, left out, moved or cut off at the end.
//!
//! ```
//! use sign::{Body, Key, Keys, Request, Verifier};
//!
//! let key = Key::new("phone-7", b"thirty-two bytes, from a key store").unwrap();
//! let body = br#"{"hello": "world"}"#;
//! let digest = sign::content_digest(body);
//! let request = Request {
//!     method: "POST",
//!     authority: "api.example",
//!     path: "/echo",
//!     query: None,
//!     body: Body::Digest(&digest),
//! };
//! let now_s = 1_618_884_473;
//! let fields = request.sign(&key, now_s, &[7; 16]);
//!
//! let mut verifier = Verifier::new(Keys::from([key]), 1 << 16);
//! let verified = verifier.verify(&request, &fields.signature_input, &fields.signature, now_s)?;
//! verified.check_body(&sign::sha256(body))?;
//! # Ok::<(), sign::Refusal>(())
//! ```
//!
//! A core: no clock, no random numbers, no input or output. The caller passes the time and the nonce.

#![forbid(unsafe_code)]

mod base;
mod chunks;
mod digest;
mod key;
mod refusal;
mod replay;
mod request;
mod verifier;

pub use chunks::{Chunks, MAC_BYTES};
pub use digest::MAX_FIELD_BYTES;
pub use digest::{content_digest, digest_field, sha256};
pub use key::{Key, Keys, MIN_SECRET_BYTES};
pub use refusal::Refusal;
pub use request::{Body, Fields, Request};
pub use verifier::{Verified, Verifier, WINDOW_S};
