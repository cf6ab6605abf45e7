//! Refusals: why a request is not accepted.

/// Why a request or a chunk is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The field is missing, too long or not what its RFC says.
    #[error("`{0}` is missing or malformed")]
    Malformed(&'static str),
    /// A component that must be signed is not, or one that must not be is.
    #[error("the signature must cover exactly {expected}, not {found}")]
    Covered {
        /// The components that must be signed.
        expected: String,
        /// Those that are.
        found: String,
    },
    /// No key has this id.
    #[error("no key has this id")]
    UnknownKey,
    /// The algorithm is another.
    #[error("the algorithm is not hmac-sha256")]
    Algorithm,
    /// It was signed too long ago.
    #[error("signed {0} s ago, which is too old")]
    Expired(u64),
    /// It was signed in the future.
    #[error("signed {0} s in the future")]
    FromTheFuture(u64),
    /// The code is another: another key, or something was changed on the way.
    #[error("the signature does not match the request")]
    Signature,
    /// The same request came before.
    #[error("a request with this nonce was received before")]
    Replayed,
    /// Too many requests came within the window to remember their nonces.
    #[error("too many requests at a time to tell new ones from repeated ones")]
    TooMany,
    /// The body is not the one that was signed.
    #[error("the body's digest is not the signed one")]
    Digest,
    /// The chunk is changed, missing, moved, or the last one too early.
    #[error("chunk {0} does not match its code")]
    Chunk(u64),
}
