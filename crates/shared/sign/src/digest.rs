//! Content-Digest with `sha-256` (RFC 9530).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use crate::refusal::Refusal;

/// Longest value of a field.
pub const MAX_FIELD_BYTES: usize = 2048;

/// Returns the value of a Content-Digest field for this body.
pub fn content_digest(body: &[u8]) -> String {
    digest_field(&sha256(body))
}

/// Returns the value of a Content-Digest field for a body with this SHA-256.
pub fn digest_field(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256))
}

/// Returns the SHA-256 of a body.
pub fn sha256(body: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, body).as_ref());
    bytes
}

/// Returns the SHA-256 that a Content-Digest field holds. Other algorithms beside it are ignored.
pub(crate) fn parse(field: &str) -> Result<[u8; 32], Refusal> {
    let malformed = || Refusal::Malformed("content-digest");
    if field.len() > MAX_FIELD_BYTES {
        return Err(malformed());
    }
    let digests = Parser::new(field).parse::<Dictionary>();
    let digests = digests.map_err(|_| malformed())?;
    match digests.get("sha-256") {
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::ByteSequence(bytes) => bytes.as_slice().try_into().map_err(|_| malformed()),
            _ => Err(malformed()),
        },
        _ => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9530, appendix D: the JSON object with a line feed at its end.
    #[test]
    fn the_digest_is_that_of_the_rfc() {
        let field = content_digest(b"{\"hello\": \"world\"}\n");
        assert_eq!(
            field,
            "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
        );
        assert_eq!(parse(&field), Ok(sha256(b"{\"hello\": \"world\"}\n")));
    }

    #[test]
    fn other_digests_beside_it_are_ignored_and_others_alone_refused() {
        let ours = content_digest(b"x");
        assert_eq!(parse(&format!("unixsum=:AA==:, {ours}")), Ok(sha256(b"x")));
        for bad in [
            "",
            "sha-512=:AA==:",
            "sha-256=:AA==:",
            "sha-256=x",
            "sha-256=:AA",
        ] {
            assert_eq!(
                parse(bad),
                Err(Refusal::Malformed("content-digest")),
                "{bad}"
            );
        }
    }
}
