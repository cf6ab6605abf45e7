//! Cold figures: the first call of a fresh process, a process for each.

use stats::Span;

use super::{Bench, EMPTY, Place};
use crate::Progress;
use crate::protocol::Part;
use crate::runner::{Runner, RunnerError, Subject};
use crate::table::{Cost, Row};

impl Bench {
    /// Fills in the rows' cold figures.
    pub(super) fn cold(&mut self, places: &[Place], rows: &mut [Row], progress: &mut dyn Progress) {
        let chosen: Vec<usize> = (0..rows.len())
            .filter(|i| {
                let name = self.messages[places[*i].message].name;
                let row = &rows[*i];
                row.problem.is_none()
                    && row.codec != EMPTY
                    && self.options.cold_messages.contains(&name)
            })
            .collect();
        progress.begin("starting fresh processes", chosen.len());
        for (done, i) in chosen.into_iter().enumerate() {
            if self.options.cold == 0 || !progress.step(done) {
                return;
            }
            match self.first_calls(&places[i]) {
                Ok([encode, decode]) => {
                    rows[i].cold_encode = Cost::of_few(&encode);
                    rows[i].cold_decode = Cost::of_few(&decode);
                }
                Err(error) => rows[i].problem = Some(error.to_string()),
            }
        }
    }

    /// From plain objects to bytes, and from bytes to plain objects, each first in a process.
    fn first_calls(&self, place: &Place) -> Result<[Vec<Span>; 2], RunnerError> {
        let message = &self.messages[place.message];
        let subject = Subject::new(&place.entry, message.name);
        // Encoding would warm the process whose first decoding is timed.
        let ways = [
            ([Part::Populate, Part::Encode], None),
            ([Part::Decode, Part::Convert], Some(place.encoded.as_path())),
        ];
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..self.options.cold {
            for ((parts, given), samples) in ways.into_iter().zip(&mut samples) {
                let program = &self.programs[place.runner];
                let mut runner = Runner::start(program, &self.schema_file)?;
                let parts = parts.into_iter().filter(|part| place.entry.has(*part));
                let times = parts.map(|part| {
                    let timed = runner.time(subject, part, &message.value_file, given, 1)?;
                    Ok(timed.elapsed_ns as f64)
                });
                let times: Vec<f64> = times.collect::<Result<_, RunnerError>>()?;
                if !times.is_empty() {
                    samples.push(Span::exact(times.iter().sum()));
                }
            }
        }
        Ok(samples)
    }
}
