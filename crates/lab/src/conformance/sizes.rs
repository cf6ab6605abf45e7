//! Bodies of the sizes that break things.

/// Nothing, the least, more than any buffer on the way, more than every window.
pub(super) const SIZES: [u64; 4] = [0, 1, LARGE, 10_000_000];

/// More than a TLS record, a socket buffer or an initial window holds.
pub(super) const LARGE: u64 = 100_000;

/// An echo of exactly so many bytes of JSON; at least the 26 of the plain one.
pub(super) fn body_of(bytes: usize) -> String {
    let plain = crate::study::DEFAULT_BODY;
    let (head, tail) = (r#"{"start_ts":1763757325123,"padding":""#, r#""}"#);
    match bytes.checked_sub(head.len() + tail.len()) {
        None => plain.to_owned(),
        Some(padding) => format!("{head}{}{tail}", "x".repeat(padding)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_their_size() {
        for bytes in [26, 1_000, 100_000] {
            let body = body_of(bytes);
            assert_eq!(body.len(), bytes);
            serde_json::from_str::<serde_json::Value>(&body).unwrap();
        }
    }
}
