//! One study: its claims, the published figures and our run, checked against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use config::{ConfigError, Source};
use report::Quantity;
use toml::Spanned;

use crate::answer::Answer;
use crate::bench::{Bench, CodecAnswer};
use crate::claims::{Claim, Claims, Pair, Question};
use crate::codec_question::CodecQuestion;
use crate::expect::Size;
use crate::fill::{Names, fill};
use crate::ours::{Ours, files};
use crate::outcome::Outcome;
use crate::published::{Figure, Selector};
use crate::{FindingsError, published, read};

/// The hand-written file of a study.
pub(crate) const CLAIMS: &str = "claims.toml";

/// A study with all that its page is made of.
pub(crate) struct Finding {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) claims: Claims,
    pub(crate) published: Vec<Figure>,
    /// Our runs that are there already, by name.
    pub(crate) ours: BTreeMap<String, Ours>,
    /// The codec bench, if it was run for this study.
    pub(crate) bench: Option<Bench>,
    /// What sentences may name.
    names: Names,
    file: String,
    text: String,
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
            bench: Bench::read(&dir, name)?,
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
        let source = Source::new(&finding.file, &finding.text);
        for (bench, question) in (finding.bench.iter()).flat_map(|bench| {
            finding
                .claims
                .codecs()
                .map(move |question| (bench, question))
        }) {
            bench.check(question, &source)?;
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
        let of_runs = self.claims.questions().map(|question| &question.near);
        let of_codecs = self.claims.codecs().map(|question| &question.near);
        for near in of_runs.chain(of_codecs).flatten() {
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
        let sums = claims.sums.iter().filter(|sum| is_asked(&sum.run));
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
        // Parts of sums first: without one there is no sum.
        let of_questions = questions()
            .flat_map(|question| [Some(&question.measure), question.against_measure.as_ref()])
            .flatten();
        let measures = (sums.flat_map(|sum| &sum.of))
            .chain(of_questions)
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
        crate::known(&Source::new(&self.file, &self.text), what, wanted, known)
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

    /// Returns the published factor of a name in `figures`.
    fn near(&self, name: Option<&Spanned<String>>) -> Option<f64> {
        let figure = self.claims.figures.get(name?.as_ref())?;
        // That the figure is there was checked.
        Some(figure.as_ref().find(&self.published).ok()?.1)
    }

    fn size(&self, question: &Question) -> Size {
        question.size(self.near(question.near.as_ref()))
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

    /// Returns the comparisons of codecs that a claim asks for, as far as the bench was run.
    pub(crate) fn codec_answers<'a>(&self, questions: &'a [CodecQuestion]) -> Vec<CodecAnswer<'a>> {
        let of = |question: &'a CodecQuestion| {
            let size = question.size(self.near(question.near.as_ref()));
            self.bench.as_ref()?.answer(question, size)
        };
        questions.iter().filter_map(of).collect()
    }

    /// Returns the outcome of a claim over all its comparisons.
    pub(crate) fn outcome(&self, claim: &Claim) -> Outcome {
        let answers = self.answers(&claim.answers);
        let codecs = self.codec_answers(&claim.codecs);
        let of_codecs = codecs.iter().map(|answer| answer.outcome);
        let outcomes: Vec<Outcome> = (answers.iter().map(|answer| answer.outcome))
            .chain(of_codecs)
            .collect();
        Outcome::all(&outcomes)
    }

    /// Returns the factor by which an arm is faster, for the chart.
    pub(crate) fn speedup(&self, pair: &Pair) -> Option<Quantity> {
        self.ours.get(self.claims.run(&pair.run))?.speedup(pair)
    }
}
