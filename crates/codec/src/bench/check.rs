//! Does the value that went in come out?

use std::path::Path;

use super::{Bench, EMPTY, Place};
use crate::protocol::Part;
use crate::runner::{RunnerError, Subject};

/// What is held against the value that came back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exactness {
    /// The value, to the bit.
    Bits,
    /// The value but for the last digits of its doubles, which the writer or the reader says it
    /// loses.
    Digits,
}

impl Bench {
    /// Writes and reads the message of a place; bytes that it became.
    pub(super) fn round_trip(&mut self, place: &Place) -> Result<u64, RunnerError> {
        if place.entry.codec == EMPTY {
            return Ok(0);
        }
        self.write(place)?;
        if place.entry.has(Part::Decode) {
            self.read(place, &place.encoded, place.exactness())?;
        }
        let written = std::fs::metadata(&place.encoded).map_err(|e| trouble(&e))?;
        Ok(written.len())
    }

    /// Puts the message, encoded, where the place wants it: by the place's own runner, or, when
    /// that one only reads, by our own codec.
    pub(crate) fn write(&mut self, place: &Place) -> Result<(), RunnerError> {
        let message = &self.messages[place.message];
        if place.entry.has(Part::Encode) {
            let subject = Subject::new(&place.entry, message.name);
            let runner = &mut self.runners[place.runner];
            return runner
                .encode(subject, &message.value_file, &place.encoded)
                .map(drop);
        }
        let codec = &place.entry.codec;
        let codec: wire::Codec =
            codec
                .parse()
                .map_err(|e: wire::CodecError| RunnerError::Unsupported {
                    what: format!("codec {codec}"),
                    reason: e.to_string(),
                })?;
        let bytes = codec
            .coder()
            .encode(&message.name.message(self.options.seed));
        std::fs::write(&place.encoded, bytes).map_err(|e| trouble(&e))
    }

    /// Has the place's runner read its message from `encoded`, and holds what it read against
    /// what it should be.
    pub(crate) fn read(
        &mut self,
        place: &Place,
        encoded: &Path,
        exactness: Exactness,
    ) -> Result<(), RunnerError> {
        let message = &self.messages[place.message];
        let back = self.folder.path().join("back");
        let subject = Subject::new(&place.entry, message.name);
        self.runners[place.runner].decode(subject, encoded, &back)?;
        let back = std::fs::read(&back).map_err(|e| trouble(&e))?;
        same(&message.value, &back, exactness).map_err(RunnerError::Refused)
    }
}

impl Place {
    /// What its own round trip keeps.
    pub(crate) fn exactness(&self) -> Exactness {
        match self.entry.lossy {
            None => Exactness::Bits,
            Some(_) => Exactness::Digits,
        }
    }
}

/// Compares the text of a value with what came back; an error names the first line that differs.
fn same(value: &str, back: &[u8], exactness: Exactness) -> Result<(), String> {
    if back == value.as_bytes() {
        return Ok(());
    }
    let back = String::from_utf8_lossy(back);
    let near = |was: &str, is: &str| {
        was == is || exactness == Exactness::Digits && differ_by_digits(was, is)
    };
    let mut lines = value.lines().zip(back.lines()).enumerate();
    let shown = |line: &str| -> String { line.chars().take(40).collect() };
    if let Some((at, (was, is))) = lines.find(|(_, (was, is))| !near(was, is)) {
        return Err(format!(
            "line {} of the value was `{}`, came back as `{}`",
            at + 1,
            shown(was),
            shown(is)
        ));
    }
    match (value.lines().count(), back.lines().count()) {
        (was, is) if was == is => Ok(()),
        (was, is) => Err(format!("{was} lines of value came back as {is}")),
    }
}

/// Two lines of a value are doubles that agree in 15 digits, as many as a decimal keeps.
fn differ_by_digits(was: &str, is: &str) -> bool {
    let double = |line: &str| {
        let bits = u64::from_str_radix(line.strip_prefix("d ")?, 16).ok()?;
        Some(f64::from_bits(bits))
    };
    match (double(was), double(is)) {
        (Some(was), Some(is)) => (was - is).abs() <= DIGITS * was.abs(),
        _ => false,
    }
}

fn trouble(error: &std::io::Error) -> RunnerError {
    RunnerError::Refused(error.to_string())
}

/// Half a unit in the 15th digit of a number that begins with a one.
const DIGITS: f64 = 5e-15;

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(values: &[f64]) -> String {
        let lines = values.iter().map(|v| format!("d {:016x}\n", v.to_bits()));
        lines.chain(["s 6869\n".to_owned()]).collect()
    }

    #[test]
    fn bits_are_bits() {
        let value = doubles(&[0.1, 2.5]);
        assert_eq!(same(&value, value.as_bytes(), Exactness::Bits), Ok(()));
        let off = doubles(&[0.1, 2.5_f64.next_up()]);
        let told = same(&value, off.as_bytes(), Exactness::Bits).unwrap_err();
        assert!(told.starts_with("line 2 of the value was `d 4004000000000000`"));
    }

    #[test]
    fn fifteen_digits_may_be_all_there_is_of_a_double() {
        let value = doubles(&[2.0 / 3.0, -1e300, 0.0]);
        let rounded = doubles(&[0.666666666666667, -1e300, 0.0]);
        assert_eq!(same(&value, rounded.as_bytes(), Exactness::Digits), Ok(()));
        for wrong in [
            doubles(&[0.66666666667, -1e300, 0.0]),
            doubles(&[2.0 / 3.0, 1e300, 0.0]),
            doubles(&[2.0 / 3.0, -1e300, 1e-300]),
            doubles(&[2.0 / 3.0, -1e300, f64::NAN]),
            value.replace("6869", "6868"),
            format!("{value}z\n"),
        ] {
            assert!(
                same(&value, wrong.as_bytes(), Exactness::Digits).is_err(),
                "{wrong}"
            );
        }
    }
}
