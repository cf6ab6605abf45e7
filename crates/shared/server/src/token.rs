//! JSON Web Tokens (RFC 7519) with RS256: one is issued when the server starts, every request is checked.
//!
//! By ring, which makes both this server's TLS and these signatures: libraries for tokens bring
//! cryptography of their own. The algorithm is fixed, whatever a token's header says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

/// How far clocks may be apart, seconds.
pub(crate) const LEEWAY_S: u64 = 60;
const ALGORITHM: &str = "RS256";

/// Issues tokens.
pub(crate) struct Issuer {
    pair: RsaKeyPair,
}

/// Checks tokens of one issuer.
pub(crate) struct TokenVerifier {
    key: UnparsedPublicKey<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    /// Extensions that a verifier must understand (RFC 7515 section 4.1.11); this one knows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crit: Option<Vec<String>>,
}

/// What a token says, in seconds since 1970.
#[derive(Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iat: u64,
    pub(crate) exp: u64,
}

/// Why a token is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadToken {
    #[error("the token is malformed")]
    Malformed,
    #[error("the token's algorithm is not {ALGORITHM}")]
    Algorithm,
    #[error("the token's signature does not match")]
    Signature,
    #[error("the token expired {0} s ago")]
    Expired(u64),
    #[error("the token was issued {0} s in the future")]
    FromTheFuture(u64),
}

impl Issuer {
    /// Takes an RSA key as PKCS#8.
    pub(crate) fn new(pkcs8: &[u8]) -> Result<Self, ring::error::KeyRejected> {
        Ok(Self {
            pair: RsaKeyPair::from_pkcs8(pkcs8)?,
        })
    }

    /// Returns a signed token.
    pub(crate) fn issue(&self, claims: &Claims) -> Result<String, ring::error::Unspecified> {
        let header = Header {
            alg: ALGORITHM.to_owned(),
            crit: None,
        };
        let mut token = format!("{}.{}", encode(&header), encode(claims));
        let mut signature = vec![0; self.pair.public().modulus_len()];
        self.pair.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            token.as_bytes(),
            &mut signature,
        )?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    pub(crate) fn verifier(&self) -> TokenVerifier {
        let key = self.pair.public_key().as_ref().to_vec();
        TokenVerifier {
            key: UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key),
        }
    }
}

impl TokenVerifier {
    /// Checks signature and claims at `now_s`, in seconds since 1970.
    pub(crate) fn verify(&self, token: &str, now_s: u64) -> Result<(), BadToken> {
        let (signed, signature) = token.rsplit_once('.').ok_or(BadToken::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(BadToken::Malformed)?;
        let header: Header = decode(header)?;
        if header.alg != ALGORITHM {
            return Err(BadToken::Algorithm);
        }
        if header.crit.is_some() {
            return Err(BadToken::Malformed);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature);
        let signature = signature.map_err(|_| BadToken::Malformed)?;
        let genuine = self.key.verify(signed.as_bytes(), &signature);
        genuine.map_err(|_| BadToken::Signature)?;
        let Claims { iat, exp } = decode(claims)?;
        if now_s >= exp.saturating_add(LEEWAY_S) {
            return Err(BadToken::Expired(now_s - exp));
        }
        if iat > now_s.saturating_add(LEEWAY_S) {
            return Err(BadToken::FromTheFuture(iat - now_s));
        }
        Ok(())
    }
}

fn encode(part: &impl Serialize) -> String {
    let json = serde_json::to_vec(part).expect("numbers and strings have a JSON form");
    URL_SAFE_NO_PAD.encode(json)
}

fn decode<'a, T: for<'de> Deserialize<'de>>(part: &'a str) -> Result<T, BadToken> {
    let json = URL_SAFE_NO_PAD.decode(part);
    let json = json.map_err(|_| BadToken::Malformed)?;
    serde_json::from_slice(&json).map_err(|_| BadToken::Malformed)
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::*;
    use crate::credentials::rsa_pkcs8;

    const NOW_S: u64 = 1_763_757_325;
    const CLAIMS: Claims = Claims {
        iat: NOW_S,
        exp: NOW_S + 3600,
    };

    fn issuer() -> Issuer {
        Issuer::new(&rsa_pkcs8().unwrap()).unwrap()
    }

    fn part(json: &str) -> String {
        URL_SAFE_NO_PAD.encode(json)
    }

    #[test]
    fn a_token_holds_from_its_issue_to_its_end_give_or_take_the_leeway() {
        let issuer = issuer();
        let verifier = issuer.verifier();
        let token = issuer.issue(&CLAIMS).unwrap();
        let verify = |now_s| verifier.verify(&token, now_s);
        assert_eq!(verify(NOW_S - LEEWAY_S), Ok(()));
        assert_eq!(verify(CLAIMS.exp + LEEWAY_S - 1), Ok(()));
        let early = verify(NOW_S - LEEWAY_S - 1);
        assert_eq!(early, Err(BadToken::FromTheFuture(LEEWAY_S + 1)));
        let late = verify(CLAIMS.exp + LEEWAY_S);
        assert_eq!(late, Err(BadToken::Expired(LEEWAY_S)));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let issuer = issuer();
        let verifier = issuer.verifier();
        let token = issuer.issue(&CLAIMS).unwrap();
        let [header, claims, signature] = token.split('.').collect::<Vec<_>>()[..] else {
            panic!("three parts");
        };
        let later = part(&format!("{{\"iat\":{NOW_S},\"exp\":{}}}", NOW_S * 2));
        // The public key is known to all, so a verifier that let the header choose would take a code
        // made with it.
        let confused = format!("{}.{claims}", part(r#"{"alg":"HS256"}"#));
        let public = hmac::Key::new(hmac::HMAC_SHA256, verifier.key.as_ref());
        let code = hmac::sign(&public, confused.as_bytes());
        let confused = format!("{confused}.{}", URL_SAFE_NO_PAD.encode(code));
        let none = part(r#"{"alg":"none"}"#);
        let critical = part(r#"{"alg":"RS256","crit":["exp"]}"#);
        let other = super::tests::issuer().issue(&CLAIMS).unwrap();
        for (token, refusal) in [
            (format!("{header}.{later}.{signature}"), BadToken::Signature),
            (other, BadToken::Signature),
            (format!("{header}.{claims}."), BadToken::Signature),
            (format!("{none}.{claims}."), BadToken::Algorithm),
            (confused, BadToken::Algorithm),
            (
                format!("{critical}.{claims}.{signature}"),
                BadToken::Malformed,
            ),
            (format!("{header}.{claims}"), BadToken::Malformed),
            (
                format!("{header}.{claims}.{signature}="),
                BadToken::Malformed,
            ),
            (format!("{token}.{signature}"), BadToken::Signature),
            (String::new(), BadToken::Malformed),
        ] {
            assert_eq!(verifier.verify(&token, NOW_S), Err(refusal), "{token}");
        }
    }

    #[test]
    fn claims_that_are_missing_or_no_numbers_are_refused() {
        let issuer = issuer();
        #[derive(Serialize)]
        struct Text {
            iat: u64,
            exp: &'static str,
        }
        let text = Text {
            iat: NOW_S,
            exp: "9999999999",
        };
        let mut token = format!("{}.{}", part(r#"{"alg":"RS256"}"#), encode(&text));
        let mut signature = vec![0; 256];
        let signed = issuer.pair.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            token.as_bytes(),
            &mut signature,
        );
        signed.unwrap();
        token += &format!(".{}", URL_SAFE_NO_PAD.encode(signature));
        let refused = issuer.verifier().verify(&token, NOW_S);
        assert_eq!(refused, Err(BadToken::Malformed));
    }
}
