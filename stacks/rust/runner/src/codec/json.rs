//! JSON by serde_json and by sonic-rs.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Library, Refused};

/// The same as serde_json's own limit.
const DEPTH_LIMIT: usize = 128;

/// serde_json with `float_roundtrip`, without which a double may come back changed.
pub(crate) struct SerdeJson;

impl<T: Serialize + DeserializeOwned + Clone> Library<T> for SerdeJson {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(serde_json::to_vec(message)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(serde_json::from_slice(bytes)?)
    }
}

/// sonic-rs through serde, with UTF-8 validation.
pub(crate) struct SonicRs;

impl<T: Serialize + DeserializeOwned + Clone> Library<T> for SonicRs {
    type Own = T;

    fn encode(&mut self, message: &T) -> Result<Vec<u8>, Refused> {
        Ok(sonic_rs::to_vec(message)?)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T, Refused> {
        Ok(sonic_rs::from_slice(bytes)?)
    }

    /// Checks the nesting depth. sonic-rs limits the depth of values, but not of unknown fields: it
    /// skips those by recursion, and a hundred kilobytes of `[` overflow the stack.
    fn vet(&self, bytes: &[u8]) -> Result<(), Refused> {
        if depth(bytes) > DEPTH_LIMIT {
            return Err(Refused(format!("nested deeper than {DEPTH_LIMIT}")));
        }
        Ok(())
    }
}

/// Returns how deep the brackets nest, ignoring those in strings.
fn depth(json: &[u8]) -> usize {
    let (mut open, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::depth;

    #[test]
    fn brackets_in_strings_do_not_nest() {
        for (json, expected) in [
            ("", 0),
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[{}],"b":[]}"#, 3),
            (r#"["[[[", "\"[["]"#, 1),
            (r#"["\\", [[]]]"#, 3),
            ("]]]][", 1),
        ] {
            assert_eq!(depth(json.as_bytes()), expected, "{json}");
        }
    }
}
