//! Studies of 34 arms with 3 measures on 2 networks: 204 comparisons in 6 columns.

use stats::{Differences, Family, Span, Verdict};

use super::cell;
use super::random::Random;

/// Standard deviation of one cell, ms.
pub(crate) const SIGMA: f64 = 0.2;

/// A study whose true differences are known.
pub(crate) struct Design {
    pub(crate) columns: Vec<Column>,
}

/// One measure on one network.
pub(crate) struct Column {
    /// True difference of each arm from the baseline.
    truth: Vec<f64>,
    margin: f64,
    noise: Noise,
}

#[derive(Clone, Copy)]
enum Noise {
    /// Cells with a standard deviation of [`SIGMA`], 7 % of them 8 deviations late.
    Late,
    /// Downloads under loss: Student's t with 2 degrees of freedom, scaled to 200 ms.
    Lossy,
    /// Student's t with 3 degrees of freedom, scaled to a standard deviation of 1.
    T3,
}

impl Design {
    /// Returns a design with 12 slower arms out of 34. They are 45 and 120 ms slower on first requests and 18 ms slower
    /// on the clean download. They are 30 ms slower on the download under loss, too, but that is undecidable, so that
    /// at most 5/6 can be decided. All else is equal.
    pub(crate) fn real() -> Self {
        let twelve = |difference| {
            (0..34)
                .map(|a| if a < 12 { difference } else { 0.0 })
                .collect()
        };
        let column = |difference, noise| Column {
            truth: twelve(difference),
            margin: 2.0,
            noise,
        };
        Self {
            columns: vec![
                column(45.0, Noise::Late),
                column(0.0, Noise::Late),
                column(18.0, Noise::Late),
                column(120.0, Noise::Late),
                column(0.0, Noise::Late),
                column(30.0, Noise::Lossy),
            ],
        }
    }

    /// Returns a design in which half of the arms equal the baseline and half differ by 1 to 3 standard deviations of a
    /// cell. The margin is 0, so that equal arms cannot be decided correctly.
    pub(crate) fn half() -> Self {
        let truth = |arm| match arm % 2 {
            0 => 0.0,
            _ => 1.0 + f64::from(arm % 5) / 2.0,
        };
        let truth: Vec<f64> = (0..34).map(truth).collect();
        Self::without_margin(&truth)
    }

    /// Returns a design in which all arms equal the baseline, and the margin is 0: every decision is wrong.
    pub(crate) fn equal(arms: usize) -> Self {
        Self::without_margin(&vec![0.0; arms])
    }

    fn without_margin(truth: &[f64]) -> Self {
        let column = || Column {
            truth: truth.to_vec(),
            margin: 0.0,
            noise: Noise::T3,
        };
        Self {
            columns: (0..6).map(|_| column()).collect(),
        }
    }

    /// Returns the differences of one run. All arms of a column share the baseline's cells.
    pub(crate) fn families(&self, blocks: usize, random: &mut Random) -> Vec<Family> {
        let family = |column: &Column| {
            let mut cells = || -> Vec<f64> {
                let cells = (0..blocks).map(|_| column.noise.draw(random));
                cells.collect()
            };
            let baseline = cells();
            let mut differences = |truth: &f64| Differences {
                by_block: cells()
                    .into_iter()
                    .zip(&baseline)
                    .map(|(arm, baseline)| Span::exact(truth + arm - baseline))
                    .collect(),
                margin: column.margin,
            };
            Family {
                comparisons: column.truth.iter().map(&mut differences).collect(),
            }
        };
        self.columns.iter().map(family).collect()
    }
}

impl Column {
    /// Returns whether a decision is true.
    pub(crate) fn is_true(&self, arm: usize, verdict: Verdict) -> bool {
        let truth = self.truth[arm];
        match verdict {
            Verdict::Faster => truth < 0.0,
            Verdict::Slower => truth > 0.0,
            Verdict::NoDifference => truth.abs() <= self.margin,
            Verdict::NotSlower => truth <= self.margin,
            Verdict::NotFaster => truth >= -self.margin,
            Verdict::CannotTell { .. } => true,
        }
    }
}

impl Noise {
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Noise::Late => cell(random),
            Noise::Lossy => 200.0 * random.student(2),
            Noise::T3 => random.student(3) / 3f64.sqrt(),
        }
    }
}
