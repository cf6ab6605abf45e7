//! Signed requests (RFC 9421), feature `sign`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderName, HeaderValue, request};
use sign::{Body, Key};

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// Signs each copy of a request that is sent. Each signature has a nonce of its own, since a server
/// refuses a nonce that it has seen.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    key: Arc<Key>,
    digest: String,
}

impl Signer {
    pub(crate) fn new(key: Arc<Key>, body: &[u8]) -> Self {
        let digest = sign::content_digest(body);
        Self { key, digest }
    }

    /// Adds the fields; returns nothing if the platform has no random numbers.
    pub(crate) fn sign(&self, head: &mut request::Parts) -> Option<()> {
        let authority = head.uri.authority()?.as_str().to_ascii_lowercase();
        let authority = authority.strip_suffix(":443").unwrap_or(&authority);
        let request = sign::Request {
            method: head.method.as_str(),
            authority,
            path: head.uri.path(),
            query: head.uri.query(),
            body: Body::Digest(&self.digest),
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = since.map_or(0, |since| since.as_secs());
        let fields = request.sign(&self.key, now_s, &crate::memory::random().ok()?);
        for (name, value) in [
            (CONTENT_DIGEST, &self.digest),
            (SIGNATURE_INPUT, &fields.signature_input),
            (SIGNATURE, &fields.signature),
        ] {
            let value = HeaderValue::try_from(value).expect("the fields are visible ASCII");
            head.headers.insert(name, value);
        }
        Some(())
    }
}
