//! Round trips: checks that the value that comes back is the one that went in.

use std::path::Path;

use driver::codec_runner::Part;

use super::{Bench, Case, EMPTY};
use crate::runner::RunnerError;

/// Half a unit in the 15th digit of a number that begins with a one, as a share of it.
const LAST_DIGIT_SHARE: f64 = 5e-15;

/// How closely a value must match the one that comes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exactness {
    /// Bit for bit.
    Bits,
    /// Except for the last digits of doubles, which the writer or the reader declares that it
    /// loses.
    Digits,
}

impl Bench {
    /// Encodes and decodes a case's message, and returns the length of the encoding in bytes.
    pub(super) fn round_trip(&mut self, case: &Case) -> Result<u64, RunnerError> {
        if case.entry.codec == EMPTY {
            return Ok(0);
        }
        self.write(case)?;
        if case.entry.has(Part::Decode) {
            self.read(case, &case.encoded, case.exactness())?;
        }
        let written = std::fs::metadata(&case.encoded).map_err(|e| refused(&e))?;
        Ok(written.len())
    }

    /// Writes the case's encoded message: by the case's own runner, or by our own codec if the
    /// library only decodes.
    pub(crate) fn write(&mut self, case: &Case) -> Result<(), RunnerError> {
        let message = &self.messages[case.message];
        if case.entry.has(Part::Encode) {
            let task = self.task(case);
            let runner = &mut self.runners[case.runner];
            return runner
                .encode(task, &message.value_file, &case.encoded)
                .map(drop);
        }
        let codec = &case.entry.codec;
        let codec: messages::Codec =
            codec
                .parse()
                .map_err(|e: messages::CodecError| RunnerError::Unsupported {
                    what: format!("codec {codec}"),
                    reason: e.to_string(),
                })?;
        let bytes = codec
            .coder()
            .encode(&message.name.message(self.options.seed));
        std::fs::write(&case.encoded, bytes).map_err(|e| refused(&e))
    }

    /// Has the case's runner decode its message from `encoded`, and compares the value with the
    /// original.
    pub(crate) fn read(
        &mut self,
        case: &Case,
        encoded: &Path,
        exactness: Exactness,
    ) -> Result<(), RunnerError> {
        let task = self.task(case);
        let decoded = self.folder.path().join("decoded");
        self.runners[case.runner].decode(task, encoded, &decoded)?;
        let decoded = std::fs::read(&decoded).map_err(|e| refused(&e))?;
        let value = &self.messages[case.message].value;
        compare(value, &decoded, exactness).map_err(RunnerError::Refused)
    }
}

impl Case {
    /// Returns the exactness of the case's own round trip.
    pub(crate) fn exactness(&self) -> Exactness {
        match self.entry.lossy {
            None => Exactness::Bits,
            Some(_) => Exactness::Digits,
        }
    }
}

/// Compares two value files. The error names the first line that differs.
fn compare(value: &str, decoded: &[u8], exactness: Exactness) -> Result<(), String> {
    if decoded == value.as_bytes() {
        return Ok(());
    }
    let decoded = String::from_utf8_lossy(decoded);
    let equal = |was: &str, is: &str| {
        was == is || exactness == Exactness::Digits && differ_in_digits(was, is)
    };
    let mut lines = value.lines().zip(decoded.lines()).enumerate();
    let excerpt = |line: &str| -> String { line.chars().take(40).collect() };
    if let Some((at, (was, is))) = lines.find(|(_, (was, is))| !equal(was, is)) {
        return Err(format!(
            "line {} of the value was `{}`, came back as `{}`",
            at + 1,
            excerpt(was),
            excerpt(is)
        ));
    }
    match (value.lines().count(), decoded.lines().count()) {
        (was, is) if was == is => Ok(()),
        (was, is) => Err(format!("a value of {was} lines came back with {is}")),
    }
}

/// Returns whether two lines of a value file are doubles that agree in 15 digits, which is what a
/// decimal of that length keeps.
fn differ_in_digits(was: &str, is: &str) -> bool {
    let double = |line: &str| {
        let bits = u64::from_str_radix(line.strip_prefix("d ")?, 16).ok()?;
        Some(f64::from_bits(bits))
    };
    match (double(was), double(is)) {
        (Some(was), Some(is)) => (was - is).abs() <= LAST_DIGIT_SHARE * was.abs(),
        _ => false,
    }
}

fn refused(error: &std::io::Error) -> RunnerError {
    RunnerError::Refused(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(values: &[f64]) -> String {
        let lines = values.iter().map(|v| format!("d {:016x}\n", v.to_bits()));
        lines.chain(["s 6869\n".to_owned()]).collect()
    }

    #[test]
    fn one_bit_makes_a_difference() {
        let value = doubles(&[0.1, 2.5]);
        assert_eq!(compare(&value, value.as_bytes(), Exactness::Bits), Ok(()));
        let off = doubles(&[0.1, 2.5_f64.next_up()]);
        let error = compare(&value, off.as_bytes(), Exactness::Bits).unwrap_err();
        assert!(error.starts_with("line 2 of the value was `d 4004000000000000`"));
    }

    #[test]
    fn lossy_codecs_may_lose_digits_beyond_the_fifteenth() {
        let value = doubles(&[2.0 / 3.0, -1e300, 0.0]);
        let rounded = doubles(&[0.666666666666667, -1e300, 0.0]);
        let digits = |decoded: &str| compare(&value, decoded.as_bytes(), Exactness::Digits);
        assert_eq!(digits(&rounded), Ok(()));
        for wrong in [
            doubles(&[0.66666666667, -1e300, 0.0]),
            doubles(&[2.0 / 3.0, 1e300, 0.0]),
            doubles(&[2.0 / 3.0, -1e300, 1e-300]),
            doubles(&[2.0 / 3.0, -1e300, f64::NAN]),
            value.replace("6869", "6868"),
            format!("{value}z\n"),
        ] {
            assert!(digits(&wrong).is_err(), "{wrong}");
        }
    }
}
