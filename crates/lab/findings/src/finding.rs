//! One study: its claims, the published figures and our run, checked against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::{ConfigError, Source};
use report::{Advice, Comparison, Kind, Place, Quantity};
use toml::Spanned;

use crate::answer::Answer;
use crate::claims::{Claim, Claims, Pair, Question, Size};
use crate::decided::Decided;
use crate::fill::{Names, fill};
use crate::outcome::Outcome;
use crate::published::{Figure, Selector};
use crate::run::Run;
use crate::{FindingsError, blocks, claims, published, read, run};

/// The hand-written file of a study.
pub(crate) const CLAIMS: &str = "claims.toml";

/// Returns the names of the two files that are kept of a run: its header and its values by block.
pub(crate) fn files(run: &str) -> (String, String) {
    (format!("{run}.json"), format!("{run}.csv"))
}

/// A study with all that its page is made of.
pub(crate) struct Finding {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) claims: Claims,
    pub(crate) published: Vec<Figure>,
    /// Our runs that are there already, by name.
    pub(crate) ours: BTreeMap<String, Ours>,
    /// What sentences may name.
    names: Names,
    file: String,
    text: String,
}

/// Our run of a study.
pub(crate) struct Ours {
    pub(crate) run: Run,
    decided: Decided,
}

impl Finding {
    /// Reads a study's folder in `root` and checks that its files fit together.
    pub(crate) fn read(root: &Path, name: &str) -> Result<Finding, FindingsError> {
        let dir = root.join(name);
        // Names of files in messages and pages are relative to the root, alike on every machine.
        let file = format!("{name}/{CLAIMS}");
        let text = read(&dir.join(CLAIMS))?;
        let figures = format!("published/{name}.csv");
        let mut finding = Finding {
            name: name.to_owned(),
            claims: Claims::parse(&Source::new(&file, &text))?,
            published: published::parse(&figures, &read(&root.join(&figures))?)?,
            ours: BTreeMap::new(),
            names: Names::default(),
            file,
            text,
        };
        finding.check_published()?;
        for run in &finding.claims.runs {
            if dir.join(files(run).0).exists() {
                finding
                    .ours
                    .insert(run.clone(), Ours::read(&dir, name, run, &finding.claims)?);
            }
        }
        for run in finding.ours.keys() {
            finding.check_ours(run)?;
        }
        finding.name_figures()?;
        Ok(finding)
    }

    pub(crate) fn error(
        &self,
        at: &std::ops::Range<usize>,
        message: impl Into<String>,
    ) -> ConfigError {
        Source::new(&self.file, &self.text).error(at, message)
    }

    /// Checks that selectors name a figure each, and that each figure is selected.
    fn check_published(&self) -> Result<(), FindingsError> {
        let mut selected = BTreeSet::new();
        for selector in self.claims.selectors() {
            selected.insert(self.find(selector)?.0.line);
        }
        for near in self
            .claims
            .questions()
            .filter_map(|question| question.near.as_ref())
        {
            self.known(
                "figure",
                near,
                self.claims.figures.keys().map(String::as_str),
            )?;
        }
        let mut figures = self.published.iter();
        match figures.find(|figure| !selected.contains(&figure.line)) {
            Some(figure) => Err(FindingsError::Data {
                file: format!("published/{}.csv:{}", self.name, figure.line),
                message: format!(
                    "no claim selects this figure of table `{}`: select it in {} or delete it",
                    figure.table, self.file
                ),
            }),
            None => Ok(()),
        }
    }

    /// Checks that a run has every network, arm and measure that claims name, and every pair.
    fn check_ours(&self, name: &str) -> Result<(), ConfigError> {
        let (claims, Ours { run, decided }) = (&self.claims, &self.ours[name]);
        let is_asked = |named: &Option<Spanned<String>>| claims.run(named) == name;
        let questions = || {
            claims
                .questions()
                .filter(|question| is_asked(&question.run))
        };
        let drawn = || claims.drawn().filter(|pair| is_asked(&pair.run));
        let needs = claims.needs.iter().filter(|need| is_asked(&need.run));
        let tables = || claims.tables.iter().filter(|table| is_asked(&table.run));
        let networks = questions()
            .flat_map(|question| &question.networks)
            .chain(drawn().map(|p| &p.network))
            .chain(tables().flat_map(|table| &table.networks));
        for network in networks {
            self.known(
                "network",
                network,
                run.networks.iter().map(|n| n.name.as_str()),
            )?;
        }
        let measures = questions()
            .flat_map(|question| [Some(&question.measure), question.against_measure.as_ref()])
            .flatten()
            .chain(drawn().map(|pair| &pair.measure))
            .chain(tables().flat_map(|table| &table.measures));
        for measure in measures.chain(needs.map(|need| &need.measure)) {
            self.known("measure", measure, decided.measures())?;
        }
        for arm in questions().flat_map(|question| [&question.arm, &question.against]) {
            self.known("arm", arm, run.arms.iter().map(|a| a.name.as_str()))?;
        }
        for (arm, against) in claims.pairs(name) {
            for arm in [arm, against] {
                self.known("arm", arm, run.arms.iter().map(|a| a.name.as_str()))?;
            }
            if !decided.has(arm.as_ref(), against.as_ref()) {
                let message = format!(
                    "{} does not compare `{}` with `{}`: extract the run again",
                    files(name).1,
                    arm.as_ref(),
                    against.as_ref()
                );
                return Err(self.error(&arm.span(), message));
            }
        }
        Ok(())
    }

    /// Fails, at the name's line, if it is not among the known ones.
    pub(crate) fn known<'a>(
        &self,
        what: &str,
        wanted: &Spanned<String>,
        known: impl Iterator<Item = &'a str>,
    ) -> Result<(), ConfigError> {
        claims::known(&Source::new(&self.file, &self.text), what, wanted, known)
    }

    /// Returns the published figure that a selector names.
    pub(crate) fn find(&self, of: &Spanned<Selector>) -> Result<(&Figure, f64), ConfigError> {
        let found = of.as_ref().find(&self.published);
        found.map_err(|message| self.error(&of.span(), message))
    }

    /// Names published figures and our results for sentences, and checks that each sentence is whole.
    fn name_figures(&mut self) -> Result<(), ConfigError> {
        let mut names = Names::default();
        for (name, selector) in &self.claims.figures {
            let (figure, value) = self.find(selector)?;
            names.figure(name, &figure.words(value));
        }
        for claim in &self.claims.claims {
            for answer in self
                .answers(&claim.answers)
                .iter()
                .chain(&self.answers(&claim.confounds))
            {
                if let Some(name) = &answer.question.name {
                    names.answer(name.as_ref(), answer);
                }
            }
        }
        self.names = names;
        let claims = &self.claims.claims;
        claims
            .iter()
            .flat_map(|claim| [&claim.says, &claim.because, &claim.changes])
            .try_for_each(|text| self.sentence(text).map(drop))
    }

    /// Returns a sentence with its numbers.
    pub(crate) fn sentence(&self, text: &Spanned<String>) -> Result<String, ConfigError> {
        // Before a run its results have no words.
        let all_run = self.ours.len() == self.claims.runs.len();
        let filled = fill(text.as_ref(), &self.names, all_run);
        filled.map_err(|message| self.error(&text.span(), message))
    }

    /// Returns the factors that a claim allows.
    fn size(&self, question: &Question) -> Size {
        let near = question.near.as_ref();
        let figure = near.and_then(|name| self.claims.figures.get(name.as_ref()));
        // That the figure is there was checked.
        let value = figure.and_then(|of| of.as_ref().find(&self.published).ok());
        question.size(value.map(|(_, value)| value))
    }

    /// Returns the comparisons that a claim asks for, one per network, as far as they were run.
    pub(crate) fn answers<'a>(&'a self, questions: &'a [Question]) -> Vec<Answer<'a>> {
        let of = |question: &'a Question| {
            let ours = self.ours.get(self.claims.run(&question.run));
            let networks = question
                .networks
                .iter()
                .map(|network| network.as_ref().as_str());
            networks.filter_map(move |network| {
                Some(ours?.answer(question, self.size(question), network))
            })
        };
        questions.iter().flat_map(of).collect()
    }

    /// Returns the outcome of a claim over all its comparisons.
    pub(crate) fn outcome(&self, claim: &Claim) -> Outcome {
        let answers = self.answers(&claim.answers);
        Outcome::all(
            &answers
                .iter()
                .map(|answer| answer.outcome)
                .collect::<Vec<_>>(),
        )
    }

    /// Returns the factor by which an arm is faster, for the chart.
    pub(crate) fn speedup(&self, pair: &Pair) -> Option<Quantity> {
        self.ours.get(self.claims.run(&pair.run))?.speedup(pair)
    }
}

impl Ours {
    fn read(dir: &Path, study: &str, name: &str, claims: &Claims) -> Result<Ours, FindingsError> {
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
        let values = blocks::parse(&format!("{study}/{values}"), &text)?;
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

    fn speedup(&self, pair: &Pair) -> Option<Quantity> {
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
