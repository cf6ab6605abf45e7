//! `claims.toml`: what a study claims, in our words, and which comparison of ours answers it. It is
//! written by hand, best before the run; results in its sentences are placeholders.

use std::collections::BTreeMap;

use config::{ConfigError, Source};
use serde::Deserialize;
use toml::Spanned;

use crate::codec_question::CodecQuestion;
use crate::expect::{self, Expect, Size};
use crate::known;
use crate::published::Selector;
use crate::relation::Relation;

/// The claims of one study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    /// The page's title, a question.
    pub(crate) title: String,
    /// The study: authors or repository, and year.
    pub(crate) study: String,
    /// Where it is published.
    pub(crate) link: String,
    /// What our runs do with its claims.
    #[serde(default)]
    pub(crate) relation: Relation,
    /// The runs, i.e. studies of commute, that answer it; the first answers where no run is named.
    pub(crate) runs: Vec<String>,
    /// Published figures by the name under which sentences print them.
    #[serde(default)]
    pub(crate) figures: BTreeMap<String, Spanned<Selector>>,
    /// Measures that a run does not have, as sums of others.
    #[serde(default, rename = "sum")]
    pub(crate) sums: Vec<Sum>,
    /// The claims, the most important first.
    #[serde(rename = "claim")]
    pub(crate) claims: Vec<Claim>,
    /// The published curve beside ours; absent where there is nothing to draw.
    pub(crate) figure: Option<Chart>,
    /// Published tables that no claim rests on.
    #[serde(default, rename = "not_repeated")]
    pub(crate) not_repeated: Vec<NotRepeated>,
    /// What the index recommends from this study.
    #[serde(default, rename = "need")]
    pub(crate) needs: Vec<Need>,
    /// A page that people write and that has the tables, from the folder of all findings.
    pub(crate) page: Option<String>,
    /// The tables of that page.
    #[serde(default, rename = "table")]
    pub(crate) tables: Vec<Table>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// The claim, with placeholders for published figures.
    pub(crate) says: Spanned<String>,
    /// The comparisons that answer it; empty where it cannot be repeated, for the reason in `because`.
    #[serde(default, rename = "answer")]
    pub(crate) answers: Vec<Question>,
    /// The comparisons of codecs that answer it.
    #[serde(default, rename = "codec")]
    pub(crate) codecs: Vec<CodecQuestion>,
    /// The comparisons that show what the result rests on.
    #[serde(default, rename = "confound")]
    pub(crate) confounds: Vec<Question>,
    /// Why the results agree or differ.
    pub(crate) because: Spanned<String>,
    /// What would change the answer.
    pub(crate) changes: Spanned<String>,
}

/// A comparison of two arms, and what the claim expects of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The name under which sentences print its result; needs a single network.
    pub(crate) name: Option<Spanned<String>>,
    /// The run that answers it.
    pub(crate) run: Option<Spanned<String>>,
    /// The networks it is asked on.
    pub(crate) networks: Vec<Spanned<String>>,
    /// The label of the measure, as in the report.
    pub(crate) measure: Spanned<String>,
    /// The arm that the claim is about.
    pub(crate) arm: Spanned<String>,
    /// The arm that it is compared with.
    pub(crate) against: Spanned<String>,
    /// The other arm's measure; absent where it is the same. If present, the arms' medians are compared block
    /// by block, with the default margin, because different requests cannot be paired. Sums need it, too.
    pub(crate) against_measure: Option<Spanned<String>>,
    /// What the claim expects of the arm.
    pub(crate) expect: Spanned<Expect>,
    /// The smallest factor in the expected direction that the claim allows.
    pub(crate) at_least: Option<f64>,
    /// The largest factor in the expected direction that the claim allows.
    pub(crate) at_most: Option<f64>,
    /// The published factor, by its name in `figures`, to which the claim's is near: at most
    /// 1.5 times as large or as small.
    pub(crate) near: Option<Spanned<String>>,
    /// The largest difference either way that the claim allows, for `within`.
    pub(crate) within_ms: Option<f64>,
    /// What the comparison shows.
    pub(crate) shows: Option<String>,
}

/// A measure that a run does not have: the times of others that follow one another, added.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sum {
    /// The run it is of.
    pub(crate) run: Option<Spanned<String>>,
    /// Its label, which no measure of the run has.
    pub(crate) measure: Spanned<String>,
    /// The labels of its parts: two or more.
    pub(crate) of: Vec<Spanned<String>>,
}

/// The published factors beside ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chart {
    /// What is drawn.
    pub(crate) title: String,
    /// Its parts.
    #[serde(rename = "panel")]
    pub(crate) panels: Vec<Panel>,
}

/// One part of a chart: factors on one axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Panel {
    /// What is compared.
    pub(crate) title: String,
    /// Whether the rows are points of a curve.
    #[serde(default)]
    pub(crate) curve: bool,
    /// One entry per row.
    pub(crate) rows: Vec<Row>,
}

/// One row of a panel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Its label.
    pub(crate) label: String,
    /// The published factor; absent where there is none.
    pub(crate) published: Option<Spanned<Selector>>,
    /// Our comparison; absent where none was made.
    pub(crate) ours: Option<Pair>,
}

/// Two arms in a measure on a network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pair {
    /// The run it is from.
    pub(crate) run: Option<Spanned<String>>,
    /// The network.
    pub(crate) network: Spanned<String>,
    /// The label of the measure.
    pub(crate) measure: Spanned<String>,
    /// The arm whose factor is drawn.
    pub(crate) arm: Spanned<String>,
    /// The arm that it is compared with.
    pub(crate) against: Spanned<String>,
}

/// Published tables that are not repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotRepeated {
    /// Ids of the tables.
    pub(crate) tables: Vec<String>,
    /// What they hold.
    pub(crate) what: String,
    /// Why they are not repeated.
    pub(crate) why: String,
}

/// A need that the index answers from this study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    /// The run that answers it.
    pub(crate) run: Option<Spanned<String>>,
    /// The label of the measure.
    pub(crate) measure: Spanned<String>,
    /// The need in words.
    pub(crate) words: String,
    /// Whether it is a download whose time depends on the sender, e.g. of files or images.
    #[serde(default)]
    pub(crate) bulk: bool,
    /// Arms that no app should take, of runs whose study did not give them a role yet.
    #[serde(default)]
    pub(crate) except: Vec<Spanned<String>>,
    /// The same need, sent by other servers.
    #[serde(default, rename = "sender")]
    pub(crate) senders: Vec<Senders>,
}

/// Comparisons of protocols with several senders, which an answer on downloads must survive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Senders {
    /// The folder of the run that compared them.
    pub(crate) study: Spanned<String>,
    /// The run.
    pub(crate) run: Spanned<String>,
    /// The network of the need.
    pub(crate) network: String,
    /// The name of this network in the run; absent where it is the same.
    pub(crate) named: Option<String>,
    /// The label of the measure.
    pub(crate) measure: Spanned<String>,
    /// An arm for each sender.
    pub(crate) arms: Vec<Spanned<String>>,
    /// The arm that they are compared with, the baseline of the run.
    pub(crate) against: Spanned<String>,
}

/// Medians of a run: a row for each network and measure, a column for each arm.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Its name in the page.
    pub(crate) name: Spanned<String>,
    /// The run it is from.
    pub(crate) run: Option<Spanned<String>>,
    /// The networks.
    pub(crate) networks: Vec<Spanned<String>>,
    /// The labels of the measures.
    pub(crate) measures: Vec<Spanned<String>>,
    /// Two arms or more; the others are compared with the first.
    pub(crate) arms: Vec<Spanned<String>>,
}

impl Need {
    /// Reports whether the sender must be named with its answer.
    pub(crate) fn is_bulk(&self) -> bool {
        self.bulk || !self.senders.is_empty()
    }
}

impl Claims {
    /// Parses `claims.toml`.
    pub(crate) fn parse(source: &Source<'_>) -> Result<Claims, ConfigError> {
        let claims: Claims = source.parse()?;
        if claims.runs.is_empty() {
            return Err(source.error_at("runs", "at least one run answers a study"));
        }
        for question in claims.questions() {
            question.check(source)?;
        }
        for question in claims.codecs() {
            question.check(source)?;
        }
        let asked = claims.questions().map(|question| &question.run);
        let drawn = claims.drawn().map(|pair| &pair.run);
        let needed = claims.needs.iter().map(|need| &need.run);
        let listed = claims.tables.iter().map(|table| &table.run);
        let summed = claims.sums.iter().map(|sum| &sum.run);
        let named = asked.chain(drawn).chain(needed).chain(listed);
        for run in named.chain(summed).flatten() {
            known(source, "run", run, claims.runs.iter().map(String::as_str))?;
        }
        for sum in &claims.sums {
            let error = |message| Err(source.error(&sum.measure.span(), message));
            if sum.of.len() < 2 {
                return error("a sum has two parts or more");
            }
            let of_sum = |question: &&Question| question.measure.as_ref() == sum.measure.as_ref();
            if claims
                .questions()
                .filter(of_sum)
                .any(|q| q.against_measure.is_none())
            {
                return error("a comparison of sums needs `against_measure`, e.g. the same sum");
            }
        }
        for table in &claims.tables {
            let error = |message| Err(source.error(&table.name.span(), message));
            if claims.page.is_none() {
                return error("a table needs a `page` to stand in");
            }
            if table.arms.len() < 2 {
                return error("a table has two arms or more");
            }
        }
        Ok(claims)
    }

    /// Returns the name of the run that answers.
    pub(crate) fn run<'a>(&'a self, named: &'a Option<Spanned<String>>) -> &'a str {
        named.as_ref().map_or(&self.runs[0], |name| name.as_ref())
    }

    /// Returns every comparison that claims ask for.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &Question> {
        self.claims
            .iter()
            .flat_map(|claim| claim.answers.iter().chain(&claim.confounds))
    }

    /// Returns every comparison of codecs that claims ask for.
    pub(crate) fn codecs(&self) -> impl Iterator<Item = &CodecQuestion> {
        self.claims.iter().flat_map(|claim| &claim.codecs)
    }

    /// Returns every pair of arms of a run that answers, the chart or tables compare in one measure.
    pub(crate) fn pairs<'a>(
        &'a self,
        run: &'a str,
    ) -> impl Iterator<Item = (&'a Spanned<String>, &'a Spanned<String>)> {
        let paired = self
            .questions()
            .filter(|question| question.against_measure.is_none());
        let asked = paired.map(|question| (&question.run, &question.arm, &question.against));
        let drawn = self
            .drawn()
            .map(|pair| (&pair.run, &pair.arm, &pair.against));
        let listed = self.tables.iter().flat_map(|table| {
            let others = table.arms.iter().skip(1);
            others.map(|arm| (&table.run, arm, &table.arms[0]))
        });
        let of_run = asked
            .chain(drawn)
            .chain(listed)
            .filter(move |(named, ..)| self.run(named) == run);
        of_run.map(|(_, arm, against)| (arm, against))
    }

    /// Returns every comparison that the chart draws.
    pub(crate) fn drawn(&self) -> impl Iterator<Item = &Pair> {
        let rows = self
            .figure
            .iter()
            .flat_map(|chart| &chart.panels)
            .flat_map(|panel| &panel.rows);
        rows.filter_map(|row| row.ours.as_ref())
    }

    /// Returns every selector of a published figure.
    pub(crate) fn selectors(&self) -> impl Iterator<Item = &Spanned<Selector>> {
        let rows = self
            .figure
            .iter()
            .flat_map(|chart| &chart.panels)
            .flat_map(|panel| &panel.rows);
        self.figures
            .values()
            .chain(rows.filter_map(|row| row.published.as_ref()))
    }
}

impl Question {
    /// Returns the factors that the claim allows, given the published factor that `near` names.
    pub(crate) fn size(&self, near: Option<f64>) -> Size {
        match near.filter(|_| self.near.is_some()) {
            Some(factor) => Some(expect::near(factor)),
            None if self.at_least.is_none() && self.at_most.is_none() => None,
            None => Some((
                self.at_least.unwrap_or(0.0),
                self.at_most.unwrap_or(f64::INFINITY),
            )),
        }
    }

    /// Checks that the rule is whole.
    pub(crate) fn check(&self, source: &Source<'_>) -> Result<(), ConfigError> {
        let within = *self.expect.as_ref() == Expect::Within;
        let bounds = self.at_least.is_some() || self.at_most.is_some();
        let factors = bounds || self.near.is_some();
        let directed = matches!(self.expect.as_ref(), Expect::Faster | Expect::Slower);
        let error = |message: &str| Err(source.error(&self.expect.span(), message));
        if within != self.within_ms.is_some() {
            return error("`within` and `within_ms` go together");
        }
        if factors && !directed {
            return error(
                "`at_least` and `at_most` are factors of an arm that is faster or slower",
            );
        }
        if let Some(name) = &self.name
            && self.networks.len() != 1
        {
            return Err(source.error(&name.span(), "a named answer has a single network"));
        }
        Ok(())
    }
}
