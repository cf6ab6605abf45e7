//! A signed request is accepted once and while it is new; whatever is changed on the way is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use sign::{Body, Chunks, Key, Keys, Refusal, Request, Verifier, WINDOW_S};

const NOW_S: u64 = 1_618_884_473;
/// The digest of no bytes.
const EMPTY: &str = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
const NONCE: [u8; 16] = [7; 16];

fn key(id: &str) -> Key {
    Key::new(id, &[id.len() as u8; 32]).unwrap()
}

fn verifier() -> Verifier {
    Verifier::new(Keys::from([key("a"), key("bb")]), 1 << 16)
}

fn request(digest: &str) -> Request<'_> {
    Request {
        method: "POST",
        authority: "api.example:8443",
        path: "/echo",
        query: Some("a=1&b=%20"),
        body: Body::Digest(digest),
    }
}

/// Verifies a request signed with key `a` at [`NOW_S`] after `change` to what arrives.
fn verify_changed(change: impl FnOnce(&mut Request<'_>, &mut String, &mut String)) -> Refusal {
    let digest = sign::content_digest(b"body");
    let mut request = request(&digest);
    let mut fields = request.sign(&key("a"), NOW_S, &NONCE);
    change(
        &mut request,
        &mut fields.signature_input,
        &mut fields.signature,
    );
    let mut verifier = verifier();
    let refused = verifier.verify(&request, &fields.signature_input, &fields.signature, NOW_S);
    refused.unwrap_err()
}

/// The example of `docs/driver-protocol.md`, by which drivers in other languages are tested, too.
#[test]
fn the_example_of_the_protocol_is_genuine() {
    let key = Key::new("phone-7", b"thirty-two bytes, from a key store").unwrap();
    let digest = sign::content_digest(br#"{"hello": "world"}"#);
    let request = Request {
        authority: "server.test:443",
        query: None,
        ..request(&digest)
    };
    let fields = request.sign(&key, NOW_S, &NONCE);
    let page = include_str!("../../../../docs/driver-protocol.md");
    for line in [
        format!("content-digest: {digest}\n"),
        format!("signature-input: {}\n", fields.signature_input),
        format!("signature: {}\n", fields.signature),
    ] {
        assert!(page.contains(&line), "{line}");
    }
}

/// A stream in two chunks, by which drivers in other languages are tested, too.
#[test]
fn the_codes_of_chunks_are_known() {
    let key = Key::new("phone-7", b"thirty-two bytes, from a key store").unwrap();
    let stream = Request {
        authority: "server.test:443",
        query: None,
        body: Body::Chunks,
        ..request("")
    };
    let fields = stream.sign(&key, NOW_S, &NONCE);
    assert_eq!(
        fields.signature,
        "commute=:pFsvNOWluJsOzzjOhQDSKuTtUZljsW/dxgqponfx+V4=:"
    );
    let mut chunks = Chunks::new(&key, fields.mac);
    let mut code = |chunk: &[u8], last| STANDARD.encode(chunks.sign(chunk, last));
    assert_eq!(
        code(b"one", false),
        "bIieWLYgoI3zbYlweX01U3lfzr9SXk+e8rtUD9AUUcY="
    );
    assert_eq!(
        code(b"two", true),
        "26muILTkfV7HFrgzjR5vPnsXDhLxOvb4PJ54m2Ajfck="
    );
}

#[test]
fn the_fields_are_as_documented() {
    let digest = sign::content_digest(b"body");
    let fields = request(&digest).sign(&key("a"), NOW_S, &NONCE);
    assert_eq!(
        fields.signature_input,
        "commute=(\"@method\" \"@authority\" \"@path\" \"@query\" \"content-digest\")\
         ;created=1618884473;nonce=\"BwcHBwcHBwcHBwcHBwcHBw\";alg=\"hmac-sha256\";keyid=\"a\""
    );
}

#[test]
fn a_request_is_accepted_once_by_either_key() {
    let digest = sign::content_digest(b"body");
    let request = request(&digest);
    let mut verifier = verifier();
    for id in ["a", "bb"] {
        let fields = request.sign(&key(id), NOW_S, &NONCE);
        let mut verify = |now_s| -> Result<String, Refusal> {
            let (input, signature) = (&fields.signature_input, &fields.signature);
            let verified = verifier.verify(&request, input, signature, now_s)?;
            verified.check_body(&sign::sha256(b"body"))?;
            assert_eq!(
                verified.check_body(&sign::sha256(b"other")),
                Err(Refusal::Digest)
            );
            Ok(verified.key.id().to_owned())
        };
        assert_eq!(verify(NOW_S).unwrap(), id);
        assert_eq!(verify(NOW_S), Err(Refusal::Replayed));
        assert_eq!(verify(NOW_S + WINDOW_S), Err(Refusal::Replayed));
        assert_eq!(
            verify(NOW_S + WINDOW_S + 1),
            Err(Refusal::Expired(WINDOW_S + 1))
        );
    }
}

#[test]
fn signatures_hold_for_a_minute_and_from_clocks_a_minute_ahead() {
    let digest = sign::content_digest(b"body");
    let request = request(&digest);
    let fields = request.sign(&key("a"), NOW_S, &NONCE);
    let verify = |now_s| {
        let mut verifier = verifier();
        let (input, signature) = (&fields.signature_input, &fields.signature);
        verifier
            .verify(&request, input, signature, now_s)
            .map(|_| ())
    };
    assert_eq!(verify(NOW_S + WINDOW_S), Ok(()));
    assert_eq!(verify(NOW_S - WINDOW_S), Ok(()));
    assert_eq!(
        verify(NOW_S + WINDOW_S + 5),
        Err(Refusal::Expired(WINDOW_S + 5))
    );
    assert_eq!(
        verify(NOW_S - WINDOW_S - 1),
        Err(Refusal::FromTheFuture(WINDOW_S + 1))
    );
}

#[test]
fn a_removed_key_is_unknown() {
    let digest = sign::content_digest(b"body");
    let request = request(&digest);
    let fields = request.sign(&key("a"), NOW_S, &NONCE);
    let mut verifier = verifier();
    verifier.keys.remove("a").unwrap();
    let refused = verifier.verify(&request, &fields.signature_input, &fields.signature, NOW_S);
    assert_eq!(refused.unwrap_err(), Refusal::UnknownKey);
}

#[test]
fn whatever_is_changed_is_refused() {
    use Refusal::{Malformed, Signature};
    assert_eq!(verify_changed(|r, _, _| r.method = "PUT"), Signature);
    assert_eq!(
        verify_changed(|r, _, _| r.authority = "evil.example"),
        Signature
    );
    assert_eq!(verify_changed(|r, _, _| r.path = "/Echo"), Signature);
    assert_eq!(verify_changed(|r, _, _| r.query = None), Signature);
    assert_eq!(
        verify_changed(|r, _, _| r.body = Body::Digest(EMPTY)),
        Signature
    );
    let replaced = |from: &'static str, to: &'static str| {
        verify_changed(|_, input, _| *input = input.replace(from, to))
    };
    assert_eq!(replaced("=1618884473", "=1618884474"), Signature);
    assert_eq!(replaced("nonce=\"Bw", "nonce=\"Aw"), Signature);
    assert_eq!(replaced("keyid=\"a\"", "keyid=\"bb\""), Signature);
    assert_eq!(replaced("keyid=\"a\"", "keyid=\"c\""), Refusal::UnknownKey);
    assert_eq!(replaced("hmac-sha256", "none"), Refusal::Algorithm);
    assert_eq!(
        replaced(";created=1618884473", ""),
        Malformed("signature-input")
    );
    assert_eq!(replaced("commute=", "other="), Malformed("signature-input"));
    for changed in [
        replaced(" \"@path\"", ""),
        replaced("\"@path\"", "\"@path\";req"),
        replaced("\"@method\" \"@authority\"", "\"@authority\" \"@method\""),
    ] {
        assert!(matches!(changed, Refusal::Covered { .. }), "{changed:?}");
    }
    for bad in ["", "commute=1", "commute=:AAAA:", "x=:AAAA:"] {
        let refused = verify_changed(|_, _, signature| *signature = bad.to_owned());
        assert_eq!(refused, Malformed("signature"), "{bad}");
    }
}

#[test]
fn a_stream_cannot_pass_for_a_request_without_chunks() {
    let digest = sign::content_digest(b"");
    let stream = Request {
        body: Body::Chunks,
        ..request("")
    };
    let fields = stream.sign(&key("a"), NOW_S, &NONCE);
    let mut verifier = verifier();
    let (input, signature) = (&fields.signature_input, &fields.signature);
    let refused = verifier.verify(&request(&digest), input, signature, NOW_S);
    assert!(matches!(refused, Err(Refusal::Covered { .. })));
    assert_eq!(
        verifier
            .verify(&stream, input, signature, NOW_S)
            .unwrap()
            .mac,
        fields.mac
    );
}

proptest! {
    /// Chunks are accepted as they were sent; one that is changed, left out, moved or cut off is not.
    #[test]
    fn chunks_are_accepted_only_whole_and_in_order(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..6),
        at in any::<prop::sample::Index>(),
    ) {
        let key = key("a");
        let mut sender = Chunks::new(&key, [1; 32]);
        let last = chunks.len() - 1;
        let sent: Vec<_> = chunks
            .iter()
            .enumerate()
            .map(|(n, chunk)| (chunk.clone(), n == last, sender.sign(chunk, n == last)))
            .collect();
        let accepts = |sent: &[(Vec<u8>, bool, [u8; 32])]| {
            let mut receiver = Chunks::new(&key, [1; 32]);
            sent.iter().all(|(chunk, last, mac)| receiver.verify(chunk, *last, mac).is_ok())
        };
        prop_assert!(accepts(&sent));
        let at = at.index(sent.len());
        let mut changed = sent.clone();
        changed[at].0.push(0);
        prop_assert!(!accepts(&changed));
        let mut moved = sent.clone();
        moved.swap(at, last);
        prop_assert!(at == last || !accepts(&moved));
        let mut without = sent.clone();
        without.remove(at);
        prop_assert!(at == last || !accepts(&without));
        let mut cut = sent[..at].to_vec();
        if let Some(end) = cut.last_mut() {
            end.1 = true;
            prop_assert!(!accepts(&cut));
        }
    }

    /// Whatever a client sends, the verifier answers.
    #[test]
    fn no_field_panics(input in ".{0,300}", signature in ".{0,300}", digest in ".{0,60}") {
        let mut verifier = verifier();
        let refused = verifier.verify(&request(&digest), &input, &signature, NOW_S);
        prop_assert!(refused.is_err());
    }
}
