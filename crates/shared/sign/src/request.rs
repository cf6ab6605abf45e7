//! The signed parts of a request, and signing them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sfv::{BareItem, Integer, Parameters, StringRef};

use crate::base;
use crate::key::Key;

/// The algorithm's name (RFC 9421, section 6.2.2).
pub(crate) const ALGORITHM: &str = "hmac-sha256";
/// The label of the signature in both fields.
pub(crate) const LABEL: &str = "commute";
/// The components that are covered, in the order in which they are signed; the digest only of a body
/// that is known beforehand.
const COMPONENTS: [&str; 5] = ["@method", "@authority", "@path", "@query", "content-digest"];

/// What is signed of a request. Of a gRPC call the method is `POST`, the path `/package.Service/Method`,
/// and the body its one message without framing.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method, in upper case.
    pub method: &'a str,
    /// Host, and port if it is not the scheme's default, in lower case (RFC 9421, section 2.2.3).
    pub authority: &'a str,
    /// The path as sent, without the query.
    pub path: &'a str,
    /// The query as sent, without its question mark.
    pub query: Option<&'a str>,
    /// How the body is covered.
    pub body: Body<'a>,
}

/// How a body is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// By the Content-Digest field with this value.
    Digest(&'a str),
    /// Chunk by chunk ([`crate::Chunks`]).
    Chunks,
}

/// The fields that a signed request carries; of a gRPC call they are metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The value of Signature-Input.
    pub signature_input: String,
    /// The value of Signature.
    pub signature: String,
    /// The code itself, which [`crate::Chunks`] continue.
    pub mac: [u8; 32],
}

impl Request<'_> {
    /// Signs the request. `created_s` is the time in seconds since 1970; `nonce` must be random.
    pub fn sign(&self, key: &Key, created_s: u64, nonce: &[u8; 16]) -> Fields {
        let mut parameters = Parameters::new();
        let created = Integer::try_from(created_s).unwrap_or(Integer::MAX);
        let nonce = URL_SAFE_NO_PAD.encode(nonce);
        let texts = [
            ("nonce", nonce.as_str()),
            ("alg", ALGORITHM),
            ("keyid", key.id()),
        ];
        parameters.insert(
            sfv::key_ref("created").to_owned(),
            BareItem::Integer(created),
        );
        for (name, value) in texts {
            // All three are visible ASCII.
            if let Ok(value) = StringRef::from_str(value) {
                parameters.insert(sfv::key_ref(name).to_owned(), value.into());
            }
        }
        let input = base::input(self.components(), parameters);
        let base = base::base(&input, |name| self.component(name)).unwrap_or_default();
        let mac = key.mac(&[base.as_bytes()]);
        Fields {
            signature_input: format!("{LABEL}={}", base::text(&input)),
            signature: format!("{LABEL}=:{}:", STANDARD.encode(mac)),
            mac,
        }
    }

    /// Returns the components that must be covered, in order.
    pub(crate) fn components(&self) -> impl Iterator<Item = &'static str> {
        let covered = match self.body {
            Body::Digest(_) => COMPONENTS.len(),
            Body::Chunks => COMPONENTS.len() - 1,
        };
        COMPONENTS.into_iter().take(covered)
    }

    pub(crate) fn component(&self, name: &str) -> Option<String> {
        match name {
            "@method" => Some(self.method.to_owned()),
            "@authority" => Some(self.authority.to_owned()),
            "@path" => Some(self.path.to_owned()),
            // A question mark alone where there is no query (section 2.2.7).
            "@query" => Some(format!("?{}", self.query.unwrap_or_default())),
            "content-digest" => match self.body {
                Body::Digest(field) => Some(field.to_owned()),
                Body::Chunks => None,
            },
            _ => None,
        }
    }
}
