//! Cold figures: the first call of a fresh process, with a process for each direction.

use driver::codec_runner::Part;
use stats::Span;

use super::{Bench, Case, EMPTY};
use crate::Progress;
use crate::runner::{Runner, RunnerError};
use crate::table::{Cost, Row};

impl Bench {
    /// Fills in the rows' cold figures.
    pub(super) fn cold(&mut self, cases: &[Case], rows: &mut [Row], progress: &mut dyn Progress) {
        let chosen: Vec<usize> = (0..rows.len())
            .filter(|i| {
                let name = self.messages[cases[*i].message].name;
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
            match self.first_calls(&cases[i]) {
                Ok([encode, decode]) => {
                    rows[i].cold_encode = Cost::from_few(&encode);
                    rows[i].cold_decode = Cost::from_few(&decode);
                }
                Err(error) => rows[i].problem = Some(error.to_string()),
            }
        }
    }

    /// Times plain objects to bytes, and bytes to plain objects, each as the first work of a
    /// process.
    fn first_calls(&self, case: &Case) -> Result<[Vec<Span>; 2], RunnerError> {
        let value_file = &self.messages[case.message].value_file;
        // Decoding gets the bytes from a file, since encoding them would warm the process up.
        let directions = [
            ([Part::Populate, Part::Encode], None),
            ([Part::Decode, Part::Convert], Some(case.encoded.as_path())),
        ];
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..self.options.cold {
            for ((parts, encoded_file), samples) in directions.into_iter().zip(&mut samples) {
                let program = &self.programs[case.runner];
                let mut runner = Runner::start(program, &self.schema_file)?;
                let parts = parts.into_iter().filter(|part| case.entry.has(*part));
                let times = parts.map(|part| {
                    let timed = runner.time(self.task(case), part, value_file, encoded_file, 1)?;
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
