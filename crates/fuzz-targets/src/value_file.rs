use std::str;

use messages::{Kind, from_value, to_value};

/// Reads a value file, as the codec runners do. Written and read again, its message must be the same.
pub fn value_file(data: &[u8]) {
    if let Some((kind, text)) = data.split_first()
        && let Some(kind) = Kind::ALL.get(usize::from(*kind))
        && let Ok(text) = str::from_utf8(text)
        && let Ok(message) = from_value(*kind, text)
    {
        // Compared as text, because NaN is not equal to itself.
        let again = from_value(*kind, &to_value(&message)).expect("what is written can be read");
        assert_eq!(to_value(&again), to_value(&message));
    }
}
