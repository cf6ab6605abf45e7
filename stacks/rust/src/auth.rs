//! Authentication of requests: by a token, or by a signature made within the call.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use driver::protocol;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::rand::{SecureRandom, SystemRandom};
use sign::{Body, Key};

use crate::body::Content;
use crate::origin::Origin;
use crate::stack_error::StackError;

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// What a setup says about authentication, read from its file.
pub enum Auth {
    /// The value of `authorization`.
    Jwt(HeaderValue),
    /// The key to sign with.
    Hmac(Key),
}

/// The proof of one request.
#[derive(Clone)]
pub struct Proof {
    /// Headers, over gRPC metadata.
    pub headers: HeaderMap,
    /// Of a signed request whose body is not covered: the key and the code from which those of its
    /// chunks go on.
    pub chunks: Option<(Key, [u8; sign::MAC_BYTES])>,
}

impl Auth {
    /// Reads the file that a setup names.
    pub fn read(auth: &protocol::Auth) -> Result<Self, StackError> {
        let read = |file: &str| {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|error| StackError::Failed(format!("{file}: {error}")))?;
            Ok(text.trim_end().to_owned())
        };
        match auth {
            protocol::Auth::Jwt { token_file } => {
                let invalid = || StackError::Failed(format!("{token_file}: not a token"));
                let value = format!("Bearer {}", read(token_file)?);
                let mut value = HeaderValue::try_from(value).map_err(|_| invalid())?;
                value.set_sensitive(true);
                Ok(Self::Jwt(value))
            }
            protocol::Auth::Hmac { key_id, key_file } => {
                let secret = STANDARD.decode(read(key_file)?).ok();
                let key = secret.and_then(|secret| Key::new(key_id, &secret));
                let invalid = format!("{key_file}: not base64 of at least 32 bytes");
                Ok(Self::Hmac(key.ok_or(StackError::Failed(invalid))?))
            }
        }
    }

    /// Reports whether requests are signed one by one.
    pub fn signs(&self) -> bool {
        matches!(self, Self::Hmac(_))
    }

    /// Returns the proof of a request, as of now. A gRPC client stream has no content yet.
    pub fn prove(
        &self,
        method: &str,
        origin: &Origin,
        path: &str,
        content: Option<&Content>,
    ) -> Proof {
        let mut headers = HeaderMap::new();
        let key = match self {
            Self::Jwt(value) => {
                headers.insert(AUTHORIZATION, value.clone());
                return Proof {
                    headers,
                    chunks: None,
                };
            }
            Self::Hmac(key) => key,
        };
        let digest = content.map(|content| sign::digest_field(&content.sha256()));
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let request = sign::Request {
            method,
            authority: &origin.authority.as_str().to_ascii_lowercase(),
            path,
            query,
            body: digest.as_deref().map_or(Body::Chunks, Body::Digest),
        };
        let fields = request.sign(key, now_s(), &nonce());
        let mut insert = |name, value: String| {
            let value = HeaderValue::try_from(value).expect("fields are visible ASCII");
            headers.insert(name, value);
        };
        insert(SIGNATURE_INPUT, fields.signature_input);
        insert(SIGNATURE, fields.signature);
        let chunks = digest.is_none().then(|| (key.clone(), fields.mac));
        if let Some(digest) = digest {
            insert(CONTENT_DIGEST, digest);
        }
        Proof { headers, chunks }
    }
}

fn nonce() -> [u8; 16] {
    let mut nonce = [0; 16];
    let filled = SystemRandom::new().fill(&mut nonce);
    filled.expect("Linux has random numbers once it has started");
    nonce
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
