//! The parts as CSV (RFC 4180): one row per part of an arm.

use ::csv::{Terminator, WriterBuilder};

use crate::summary::why::Why;

/// The columns of [`Why::csv`].
const COLUMNS: [&str; 7] = [
    "network",
    "measure",
    "arm",
    "part",
    "ns",
    "round_trips",
    "calls",
];

impl Why {
    /// Returns the mean of every part. A part that is no round trip has an empty field.
    pub fn csv(&self) -> String {
        let mut out = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .from_writer(Vec::new());
        let mut write = |row: [&str; 7]| {
            let mut cells = row.map(neutral::cell);
            // Two names stand side by side.
            for (cell, name) in cells.iter_mut().zip(row).take(3) {
                *cell = neutral::name_cell(name);
            }
            out.write_record(cells).expect("memory can be written to");
        };
        write(COLUMNS);
        for measure in &self.measures {
            for arm in &measure.arms {
                for time in &arm.parts {
                    let trips = time
                        .round_trips
                        .map_or(String::new(), |n| format!("{n:.3}"));
                    write([
                        &measure.network,
                        &measure.label,
                        &arm.arm,
                        time.part.name(),
                        &format!("{:.0}", time.ns),
                        &trips,
                        &arm.calls.to_string(),
                    ]);
                }
            }
        }
        let bytes = out.into_inner().expect("memory can be written to");
        String::from_utf8(bytes).expect("every field is UTF-8")
    }
}
