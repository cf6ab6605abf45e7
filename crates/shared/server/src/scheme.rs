//! How requests prove who sends them.

use sign::Refusal;

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

/// The body, or a chunk, is not the one that was signed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Forged(pub(crate) Refusal);
