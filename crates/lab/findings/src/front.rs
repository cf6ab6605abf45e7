//! The front of the index, `front.toml`: advice in sentences, and a table in ms of what to take and why. People write
//! its words. Its figures come from the runs, and a rule fails the build once a run no longer supports a row.

use std::path::Path;

use config::{ConfigError, Source};
use report::{AaCheck, duration};
use serde::Deserialize;
use stats::Verdict;
use toml::Spanned;

use crate::claims::Question;
use crate::fill::{Names, fill};
use crate::finding::Finding;
use crate::ours::Ours;
use crate::outcome::Outcome;
use crate::words::{or_unknown, plain, table, version};
use crate::{FindingsError, PAGE, known, read};

/// The hand-written file.
const FRONT: &str = "front.toml";

/// What stands in a column where nothing was measured.
const NOTHING: &str = "-";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Front {
    /// Sentences, the most important first. `{NAME.1}` is the first figure of the row NAME.
    advice: Vec<Spanned<String>>,
    /// The titles of the columns of figures.
    columns: Vec<String>,
    #[serde(rename = "row")]
    rows: Vec<Row>,
}

/// A need, its figures and what to take.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The name under which sentences print its figures.
    name: Option<String>,
    /// The need in words.
    need: String,
    /// The folder of the run.
    study: Spanned<String>,
    /// The run; by default the first of the study.
    run: Option<Spanned<String>>,
    /// The network of each column; empty where nothing was measured.
    networks: Vec<Spanned<String>>,
    /// The label of the measure.
    measure: Spanned<String>,
    /// The arm.
    arm: Spanned<String>,
    /// The arm it is compared with; then the figures are differences.
    against: Option<Spanned<String>>,
    /// What to take.
    take: String,
    /// Why.
    why: Spanned<String>,
    /// What the words rest on, judged as the answers of a claim are.
    #[serde(default)]
    holds: Vec<Question>,
}

/// Returns the front in Markdown; `None` if there is no `front.toml`.
pub(crate) fn front(root: &Path, findings: &[Finding]) -> Result<Option<String>, FindingsError> {
    if !root.join(FRONT).is_file() {
        return Ok(None);
    }
    let text = read(&root.join(FRONT))?;
    let source = Source::new(FRONT, &text);
    let front: Front = source.parse()?;
    let mut names = Names::default();
    let mut rows = Vec::new();
    let mut runs: Vec<(&Finding, &Ours)> = Vec::new();
    for row in &front.rows {
        let (finding, ours) = row.find(&source, findings)?;
        row.check(&source, ours, front.columns.len())?;
        if !runs
            .iter()
            .any(|(_, known)| known.run.study == ours.run.study)
        {
            runs.push((finding, ours));
        }
        let figures: Vec<String> = row.networks.iter().map(|n| row.figure(ours, n)).collect();
        if let Some(name) = &row.name {
            for (number, figure) in (1..).zip(&figures) {
                names.figure(&format!("{name}.{number}"), figure);
            }
        }
        rows.push((row, figures));
    }
    let sentence = |text: &Spanned<String>| {
        let filled = fill(text.as_ref(), &names, true);
        filled.map_err(|message| source.error(&text.span(), message))
    };
    let mut page = String::new();
    for (number, advice) in (1..).zip(&front.advice) {
        page += &format!("{number}. {}\n", plain(&sentence(advice)?));
    }
    let columns = front.columns.iter().map(String::as_str);
    let head: Vec<&str> = std::iter::once("need")
        .chain(columns)
        .chain(["take", "why"])
        .collect();
    let lines = rows.iter().map(|(row, figures)| {
        let mut line = vec![row.need.clone()];
        line.extend(figures.iter().cloned());
        line.push(row.take.clone());
        line.push(sentence(&row.why)?);
        Ok(line)
    });
    let lines: Vec<Vec<String>> = lines.collect::<Result<_, ConfigError>>()?;
    page += &format!("\n{}", table(&head, &lines));
    page += "\nMedians over blocks. Measured on:\n\n";
    for (finding, ours) in runs {
        page += &measured(finding, ours);
    }
    Ok(Some(page))
}

/// Returns when and with what a run was measured.
fn measured(finding: &Finding, ours: &Ours) -> String {
    let run = &ours.run;
    let mut servers: Vec<&str> = run
        .arms
        .iter()
        .flat_map(|arm| arm.server.iter().map(String::as_str))
        .collect();
    servers.sort_unstable();
    servers.dedup();
    let a_a = match &run.a_a {
        AaCheck::Passed => String::new(),
        AaCheck::Inconclusive { undecided } => {
            format!("; A/A check inconclusive ({})", undecided.join("; "))
        }
        other => format!("; A/A check {}", other.name()),
    };
    format!(
        "- [{}]({}/{PAGE}): {}, {}, {} blocks; servers {}{}\n",
        plain(&run.study),
        finding.name,
        run.date,
        plain(&version(&run.commute, &run.commits)),
        run.blocks,
        plain(&servers.join(", ")),
        plain(&a_a)
    )
}

impl Row {
    /// Returns the study and the run of the row.
    fn find<'a>(
        &self,
        source: &Source<'_>,
        findings: &'a [Finding],
    ) -> Result<(&'a Finding, &'a Ours), ConfigError> {
        let names = || findings.iter().map(|finding| finding.name.as_str());
        known(source, "study", &self.study, names())?;
        let finding = findings.iter().find(|f| f.name == *self.study.as_ref());
        let run = finding.map(|finding| finding.claims.run(&self.run));
        let ours = finding
            .zip(run)
            .and_then(|(f, run)| Some((f, f.ours.get(run)?)));
        ours.ok_or_else(|| {
            let message = format!(
                "run {} was not made yet",
                or_unknown(run.map(str::to_owned))
            );
            source.error(&self.study.span(), message)
        })
    }

    /// Checks the names of the row, and that its run still shows what it says.
    fn check(&self, source: &Source<'_>, ours: &Ours, columns: usize) -> Result<(), ConfigError> {
        if self.networks.len() != columns {
            let message = format!("a row has a network for each of the {columns} columns");
            return Err(source.error(&self.measure.span(), message));
        }
        let networks = || ours.run.networks.iter().map(|n| n.name.as_str());
        let arms = || ours.run.arms.iter().map(|arm| arm.name.as_str());
        let asked = self.holds.iter().flat_map(|question| &question.networks);
        let all = self.networks.iter().chain(asked);
        for network in all.filter(|name| !name.as_ref().is_empty()) {
            known(source, "network", network, networks())?;
        }
        let asked = self.holds.iter().map(|question| &question.measure);
        for measure in std::iter::once(&self.measure).chain(asked) {
            known(source, "measure", measure, ours.measures())?;
        }
        let asked = self.holds.iter().flat_map(|q| [&q.arm, &q.against]);
        for arm in std::iter::once(&self.arm).chain(&self.against).chain(asked) {
            known(source, "arm", arm, arms())?;
        }
        for question in &self.holds {
            question.check(source)?;
            for network in &question.networks {
                let answer = ours.answer(question, question.size(None), network.as_ref());
                if answer.outcome != Outcome::Same {
                    let found = answer.outcome.words();
                    let message = format!("the run no longer shows this: {found}");
                    return Err(source.error(&question.expect.span(), message));
                }
            }
        }
        Ok(())
    }

    /// Returns the figure of a column.
    fn figure(&self, ours: &Ours, network: &Spanned<String>) -> String {
        let place = ours.place(network.as_ref(), self.measure.as_ref(), self.arm.as_ref());
        let figure = match &self.against {
            None => ours
                .median(&place)
                .and_then(|median| median.value)
                .map(duration),
            Some(against) => {
                let found = ours.compare(&place, against.as_ref());
                found.map(
                    |comparison| match (comparison.verdict, comparison.difference.value) {
                        (Verdict::Faster, Some(ns)) => format!("{} faster", duration(-ns)),
                        (Verdict::Slower, Some(ns)) => format!("{} slower", duration(ns)),
                        (verdict, _) => report::verdict_words(verdict).to_owned(),
                    },
                )
            }
        };
        figure.unwrap_or_else(|| NOTHING.to_owned())
    }
}
