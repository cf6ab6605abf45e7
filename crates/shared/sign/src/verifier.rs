//! Verifies signed requests.

use sfv::{BareItem, Dictionary, InnerList, ListEntry, Parser};

use crate::base;
use crate::digest::{self, MAX_FIELD_BYTES};
use crate::key::{Key, Keys};
use crate::refusal::Refusal;
use crate::replay::Nonces;
use crate::request::{ALGORITHM, Body, LABEL, Request};

/// How long a signature holds, and how far in the future it may be, in seconds: the clocks of phones
/// are off by some.
pub const WINDOW_S: u64 = 60;
/// Longest nonce.
const MAX_NONCE_BYTES: usize = 64;

/// A server's keys, and the nonces that it has seen.
#[derive(Debug)]
pub struct Verifier {
    /// The keys that are accepted.
    pub keys: Keys,
    nonces: Nonces,
}

/// A request whose head is genuine, new and recent.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The key that it is signed with.
    pub key: Key,
    /// The head's code, which [`crate::Chunks`] continue.
    pub mac: [u8; 32],
    digest: Option<[u8; 32]>,
}

impl Verifier {
    /// Accepts requests signed with one of these keys, and remembers at most this many nonces of
    /// requests within the window, some 150 bytes each.
    pub fn new(keys: Keys, nonces: usize) -> Verifier {
        Verifier {
            keys,
            nonces: Nonces::new(nonces),
        }
    }

    /// Verifies the head of a request from the values of its fields Signature-Input and Signature, at
    /// `now_s`, in seconds since 1970. Nothing is remembered of a request that is refused.
    pub fn verify(
        &mut self,
        request: &Request<'_>,
        signature_input: &str,
        signature: &str,
        now_s: u64,
    ) -> Result<Verified, Refusal> {
        let input = input(signature_input)?;
        let claimed = Claimed::of(&input)?;
        check_covered(&input, request)?;
        let mac = mac(signature)?;
        let key = self.keys.get(claimed.key).ok_or(Refusal::UnknownKey)?;
        if let Some(age_s) = now_s
            .checked_sub(claimed.created_s + WINDOW_S)
            .filter(|&s| s > 0)
        {
            return Err(Refusal::Expired(age_s + WINDOW_S));
        }
        if claimed.created_s > now_s + WINDOW_S {
            return Err(Refusal::FromTheFuture(claimed.created_s - now_s));
        }
        let base = base::base(&input, |name| request.component(name));
        let base = base.map_err(|_| Refusal::Malformed("signature-input"))?;
        if !key.verifies(base.as_bytes(), &mac) {
            return Err(Refusal::Signature);
        }
        let digest = match request.body {
            Body::Digest(field) => Some(digest::parse(field)?),
            Body::Chunks => None,
        };
        // Last, so that only who has a key can fill the memory. Kept for the longest that any request
        // of now can be valid.
        let keep_until_s = now_s + 2 * WINDOW_S;
        self.nonces
            .add(claimed.key, claimed.nonce, now_s, keep_until_s)?;
        Ok(Verified {
            key: key.clone(),
            mac,
            digest,
        })
    }
}

impl Verified {
    /// Checks the body by its SHA-256. A body that is signed by chunks has no digest to check.
    pub fn check_body(&self, sha256: &[u8; 32]) -> Result<(), Refusal> {
        match &self.digest {
            Some(signed) if signed != sha256 => Err(Refusal::Digest),
            _ => Ok(()),
        }
    }
}

/// What the parameters of a signature claim.
struct Claimed<'a> {
    created_s: u64,
    nonce: &'a str,
    key: &'a str,
}

impl Claimed<'_> {
    fn of(input: &InnerList) -> Result<Claimed<'_>, Refusal> {
        let malformed = || Refusal::Malformed("signature-input");
        let text = |name: &str| match input.params.get(name) {
            Some(BareItem::String(text)) => Some(text.as_str()),
            _ => None,
        };
        // The key tells the algorithm, so it may be left out (RFC 9421, section 3.2).
        if input.params.get("alg").is_some() && text("alg") != Some(ALGORITHM) {
            return Err(Refusal::Algorithm);
        }
        let created_s = match input.params.get("created") {
            Some(BareItem::Integer(created)) => u64::try_from(i64::from(*created)).ok(),
            _ => None,
        };
        let nonce = text("nonce").filter(|nonce| (1..=MAX_NONCE_BYTES).contains(&nonce.len()));
        Ok(Claimed {
            created_s: created_s.ok_or_else(malformed)?,
            nonce: nonce.ok_or_else(malformed)?,
            key: text("keyid").ok_or_else(malformed)?,
        })
    }
}

fn input(field: &str) -> Result<InnerList, Refusal> {
    match member(field) {
        Some(ListEntry::InnerList(input)) => Ok(input),
        _ => Err(Refusal::Malformed("signature-input")),
    }
}

fn mac(field: &str) -> Result<[u8; 32], Refusal> {
    let mac = match member(field) {
        Some(ListEntry::Item(item)) => match item.bare_item {
            BareItem::ByteSequence(bytes) => bytes.try_into().ok(),
            _ => None,
        },
        _ => None,
    };
    mac.ok_or(Refusal::Malformed("signature"))
}

/// Returns our member of a dictionary; a request may carry the signatures of others, too.
fn member(field: &str) -> Option<ListEntry> {
    if field.len() > MAX_FIELD_BYTES {
        return None;
    }
    let mut members = Parser::new(field).parse::<Dictionary>().ok()?;
    members.swap_remove(LABEL)
}

fn check_covered(input: &InnerList, request: &Request<'_>) -> Result<(), Refusal> {
    let list = |names: &mut dyn Iterator<Item = &str>| {
        let quoted: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        format!("({})", quoted.join(" "))
    };
    let expected = list(&mut request.components());
    let mut bare = input.clone();
    bare.params = sfv::Parameters::new();
    let found = base::text(&bare);
    if found == expected {
        return Ok(());
    }
    Err(Refusal::Covered { expected, found })
}
