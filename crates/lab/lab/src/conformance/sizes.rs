//! Sizes and delays that the cases share.

/// One-way delay of the conformance link: long enough that the order of events is clear.
pub(super) const ONE_WAY_NS: u64 = 10_000_000;

/// Body sizes: empty, smallest, larger than any buffer on the way, larger than every window.
pub(super) const SIZES: [u64; 4] = [0, 1, LARGE, 10_000_000];

/// More than fits a TLS record, a socket buffer or an initial window.
pub(super) const LARGE: u64 = 100_000;

/// Returns a JSON body of exactly `bytes` bytes, but no fewer than the default body's 26.
pub(super) fn body_of(bytes: usize) -> String {
    let plain = study::DEFAULT_BODY;
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
    fn bodies_have_the_requested_size() {
        for bytes in [26, 1_000, 100_000] {
            let body = body_of(bytes);
            assert_eq!(body.len(), bytes);
            serde_json::from_str::<serde_json::Value>(&body).unwrap();
        }
    }
}
