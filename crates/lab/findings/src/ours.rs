//! One run of ours beside a study's claims: its values by block, decided again.

use std::path::Path;

use report::{Advice, Comparison, Kind, Place, Quantity};
use toml::Spanned;

use crate::answer::Answer;
use crate::claims::{Claims, Pair, Question};
use crate::decided::Decided;
use crate::expect::Size;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::{FindingsError, blocks, read, run, sums};

/// Returns the names of the two files that are kept of a run: its header and its values by block.
pub(crate) fn files(run: &str) -> (String, String) {
    (format!("{run}.json"), format!("{run}.csv"))
}

/// Our run of a study.
pub(crate) struct Ours {
    pub(crate) run: Run,
    pub(crate) decided: Decided,
}

impl Ours {
    /// Reads a run's two files in the study's folder.
    pub(crate) fn read(
        dir: &Path,
        study: &str,
        name: &str,
        claims: &Claims,
    ) -> Result<Ours, FindingsError> {
        let (header, values) = files(name);
        let file = format!("{study}/{header}");
        let error = |message: String| FindingsError::Data {
            file: file.clone(),
            message,
        };
        let run: Run =
            serde_json::from_str(&read(&dir.join(&header))?).map_err(|e| error(e.to_string()))?;
        if run.format != run::FORMAT {
            return Err(error(format!(
                "format {} instead of {}",
                run.format,
                run::FORMAT
            )));
        }
        let text = read(&dir.join(&values))?;
        let mut values = blocks::parse(&format!("{study}/{values}"), &text)?;
        for sum in claims
            .sums
            .iter()
            .filter(|sum| claims.run(&sum.run) == name)
        {
            if values
                .medians
                .keys()
                .any(|place| place.measure == *sum.measure.as_ref())
            {
                return Err(error(format!(
                    "the run has a measure `{}` of its own",
                    sum.measure.as_ref()
                )));
            }
            sums::add(&mut values, sum);
        }
        let of_run = claims
            .questions()
            .filter(|question| claims.run(&question.run) == name);
        let place =
            |network: &Spanned<String>, measure: &Spanned<String>, arm: &Spanned<String>| Place {
                kind: Kind::Time,
                network: network.as_ref().clone(),
                measure: measure.as_ref().clone(),
                arm: arm.as_ref().clone(),
            };
        let mut across = Vec::new();
        for question in of_run {
            for (other, network) in question
                .against_measure
                .iter()
                .flat_map(|m| question.networks.iter().map(move |n| (m, n)))
            {
                let arm = place(network, &question.measure, &question.arm);
                across.push((arm, place(network, other, &question.against)));
            }
        }
        let ranks = report::ranks(run.looked_at_results);
        Ok(Ours {
            decided: Decided::new(&values, &run.baseline, &across, run.margin_ns, ranks),
            run,
        })
    }

    /// Returns the place of an arm in a measure on a network.
    pub(crate) fn place(&self, network: &str, measure: &str, arm: &str) -> Place {
        Place {
            kind: self.decided.kind(measure).unwrap_or(Kind::Time),
            network: network.to_owned(),
            measure: measure.to_owned(),
            arm: arm.to_owned(),
        }
    }

    /// Returns what the run answers to a question on a network.
    pub(crate) fn answer<'a>(
        &'a self,
        question: &'a Question,
        size: Size,
        network: &'a str,
    ) -> Answer<'a> {
        let other = question
            .against_measure
            .as_ref()
            .unwrap_or(&question.measure);
        let arm = self.place(network, question.measure.as_ref(), question.arm.as_ref());
        let against = self.place(network, other.as_ref(), question.against.as_ref());
        let comparison = match question.against_measure {
            Some(_) => self.decided.across(&arm, &against),
            None => self.decided.comparison(&arm, &against.arm),
        };
        let outcome = match &comparison {
            None => Outcome::NotRun,
            // Where the baseline differs from its copy, no difference is trustworthy.
            Some(_) if self.is_invalid(network) => Outcome::Open,
            Some(comparison) => Outcome::of(question, size, comparison),
        };
        Answer {
            question,
            network,
            arm: self.decided.median(&arm),
            against: self.decided.median(&against),
            kind: arm.kind,
            comparison,
            size,
            outcome,
            reason: (question.against.as_ref() == &self.run.baseline)
                .then(|| {
                    self.run
                        .reason(network, question.measure.as_ref(), question.arm.as_ref())
                })
                .flatten()
                .filter(|_| question.against_measure.is_none()),
        }
    }

    /// Returns the labels of all measures.
    pub(crate) fn measures(&self) -> impl Iterator<Item = &str> {
        self.decided.measures()
    }

    /// Returns the median over blocks of an arm.
    pub(crate) fn median(&self, place: &Place) -> Option<&Quantity> {
        self.decided.median(place)
    }

    /// Reports whether nothing is decided on a network.
    pub(crate) fn is_invalid(&self, network: &str) -> bool {
        let is = |n: &&run::Network| n.name == network && n.advice == Advice::Invalid;
        self.run.networks.iter().any(|n| is(&n))
    }

    /// Returns the factor by which an arm is faster, for the chart.
    pub(crate) fn speedup(&self, pair: &Pair) -> Option<Quantity> {
        let arm = self.place(
            pair.network.as_ref(),
            pair.measure.as_ref(),
            pair.arm.as_ref(),
        );
        self.decided
            .comparison(&arm, pair.against.as_ref())?
            .speedup
    }

    /// Returns the comparison of an arm with another.
    pub(crate) fn compare(&self, arm: &Place, against: &str) -> Option<Comparison> {
        self.decided.comparison(arm, against)
    }
}
