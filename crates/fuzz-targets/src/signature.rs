use std::str;

use sign::{Body, Key, Keys, Request, Verifier};

/// The time at which the corpus was signed.
const NOW_S: u64 = 1_618_884_473;

/// Verifies the fields of a signed request, a line each: Signature-Input, Signature, Content-Digest.
pub fn signature(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let mut lines = text.lines();
    let (Some(input), Some(signature)) = (lines.next(), lines.next()) else {
        return;
    };
    let key = Key::new("phone-7", b"thirty-two bytes, from a key store").expect("a valid key");
    let mut verifier = Verifier::new(Keys::from([key]), 2);
    let request = Request {
        method: "POST",
        authority: "server.test:443",
        path: "/echo",
        query: None,
        body: lines.next().map_or(Body::Chunks, Body::Digest),
    };
    if let Ok(verified) = verifier.verify(&request, input, signature, NOW_S) {
        // The fuzzer does not know the secret, but the request of the corpus.
        let repeated = verifier.verify(&request, input, signature, NOW_S);
        assert_eq!(repeated.err(), Some(sign::Refusal::Replayed));
        verified.check_body(&[0; 32]).ok();
    }
}
