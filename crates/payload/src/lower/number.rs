//! The types of numbers.

use super::Lower;
use crate::place::{Place, Tally};
use crate::schema::Type;

impl Lower {
    /// The narrowest type that holds every number of a place.
    pub(super) fn number(&mut self, place: &Place, path: &str) -> Type {
        let integer = &place.integer;
        if place.huge.seen() {
            let modelled = "double, which keeps 15 to 17 of their digits";
            self.note(
                path,
                "numbers beyond 64 bits",
                &place.huge.samples,
                modelled,
            );
            return Type::Double;
        }
        if place.fraction.seen() {
            if integer.all.seen() {
                let found = format!(
                    "{}, {}",
                    self.listed("integers", &integer.all.samples),
                    self.listed("fractions", &place.fraction.samples)
                );
                self.note(path, &found, &[], "double for both");
            }
            self.note_lossy(&integer.beyond_double, path);
            return Type::Double;
        }
        if integer.above_i64.seen() && integer.negative.seen() {
            let found = "integers below 0 and above 2^63";
            let modelled = "double, since no type of 64 bits holds both";
            self.note(path, found, &integer.above_i64.samples, modelled);
            self.note_lossy(&integer.beyond_double, path);
            return Type::Double;
        }
        if integer.beyond_double.seen() {
            let modelled = "64 bits hold them; JavaScript, and whoever keeps numbers as doubles, \
                            loses their last digits";
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
            let found = "integers beyond 2^53 where doubles are";
            self.note(path, found, &beyond.samples, "they lose their last digits");
        }
    }
}
