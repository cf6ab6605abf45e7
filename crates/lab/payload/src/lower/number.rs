//! The types of number fields.

use super::Lower;
use crate::observed::{Observed, Tally};
use crate::schema::Type;

impl Lower {
    /// Chooses the narrowest type that holds every number observed at a path.
    pub(super) fn number(&mut self, observed: &Observed, path: &str) -> Type {
        let integer = &observed.integer;
        if observed.huge.seen() {
            let modelled = "double, which keeps 15 to 17 digits";
            self.note(
                path,
                "numbers beyond 64 bits",
                &observed.huge.samples,
                modelled,
            );
            return Type::Double;
        }
        if observed.fraction.seen() {
            if integer.all.seen() {
                let found = format!(
                    "{}, {}",
                    self.found_in("integers", &integer.all.samples),
                    self.found_in("fractions", &observed.fraction.samples)
                );
                self.note(path, &found, &[], "double for both");
            }
            self.note_lossy(&integer.beyond_double, path);
            return Type::Double;
        }
        if integer.above_i64.seen() && integer.negative.seen() {
            let found = "integers below 0 and above 2^63";
            let modelled = "double, since no 64-bit type holds both";
            self.note(path, found, &integer.above_i64.samples, modelled);
            self.note_lossy(&integer.beyond_double, path);
            return Type::Double;
        }
        if integer.beyond_double.seen() {
            let modelled = "64 bits hold them, but JavaScript and other readers that use doubles \
                            lose their last digits";
            let samples = &integer.beyond_double.samples;
            self.note(path, "integers beyond 2^53", samples, modelled);
        }
        match (integer.above_i64.seen(), integer.negative.seen()) {
            (true, _) => Type::Uint64,
            (false, true) => Type::Sint64,
            (false, false) => Type::Int64,
        }
    }

    fn note_lossy(&mut self, beyond: &Tally, path: &str) {
        if beyond.seen() {
            let found = "integers beyond 2^53 in a double field";
            self.note(path, found, &beyond.samples, "they lose their last digits");
        }
    }
}
