//! The page of one study, `STUDY/README.md`.

use config::ConfigError;
use report::{AaCheck, cells_line, count, duration, percent, with_interval};

use crate::claims::Claim;
use crate::finding::{Answer, BLOCKS, CLAIMS, Finding, Ours, RUN};
use crate::outcome::Outcome;
use crate::run::Run;
use crate::words::{factor, or_unknown, plain, table, verdict};

/// The chart of a study.
pub(crate) const CHART: &str = "figure.svg";

const MADE: &str = "<!-- Made by `commute findings`. Edit claims.toml instead. -->\n\n";

/// Returns the page of a study that was run.
pub(crate) fn page(finding: &Finding, ours: &Ours) -> Result<String, ConfigError> {
    let (claims, run) = (&finding.claims, &ours.run);
    let mut text = format!(
        "{MADE}# {}\n\nRepeats [{}]({}). Measured on {} with commute {}{}.\n\n",
        plain(&claims.title),
        plain(&claims.study),
        claims.link,
        run.date,
        run.commute,
        match run.commits.is_empty() {
            true => String::new(),
            false => format!(" (commit {})", run.commits.join(" and ")),
        },
    );
    for line in warnings(run) {
        text += &format!("**{}**\n\n", plain(&line));
    }
    text += &summary(finding)?;
    if let Some(chart) = &claims.figure {
        text += &format!("\n![{}]({CHART})\n", plain(&chart.title));
    }
    for (i, claim) in claims.claims.iter().enumerate() {
        text += &section(finding, claim, i + 1)?;
    }
    text += &method(run);
    text += &arms(run);
    text += &repeat(finding, run);
    text += &not_repeated(finding);
    Ok(text)
}

/// Returns why results must not be used.
fn warnings(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = run
        .invalid
        .iter()
        .map(|line| format!("Invalid: {line}."))
        .collect();
    if let AaCheck::Failed { objections } = &run.a_a {
        lines.push(format!(
            "The A/A check failed, the baseline differs from its copy: {}.",
            objections.join("; ")
        ));
    }
    lines
}

/// Returns the claims in one table.
fn summary(finding: &Finding) -> Result<String, ConfigError> {
    let claims = finding.claims.claims.iter().enumerate();
    let rows = claims.map(|(i, claim)| {
        let outcome = outcome(finding, claim);
        Ok(vec![
            (i + 1).to_string(),
            finding.sentence(&claim.says)?,
            outcome.words().to_owned(),
        ])
    });
    let rows: Vec<Vec<String>> = rows.collect::<Result<_, ConfigError>>()?;
    Ok(table(&["", "published claim", "ours"], &rows))
}

/// Returns the outcome of a claim over all its comparisons.
pub(crate) fn outcome(finding: &Finding, claim: &Claim) -> Outcome {
    let answers = finding.answers(&claim.answers);
    Outcome::all(&answers.iter().map(|a| a.outcome).collect::<Vec<_>>())
}

fn section(finding: &Finding, claim: &Claim, number: usize) -> Result<String, ConfigError> {
    let mut text = format!(
        "\n## {number}. {}\n\nOurs: **{}**. {}\n",
        plain(&finding.sentence(&claim.says)?),
        outcome(finding, claim).words(),
        plain(&finding.sentence(&claim.because)?),
    );
    let answers = finding.answers(&claim.answers);
    if !answers.is_empty() {
        text += &format!("\n{}", comparisons(&answers, "claim"));
    }
    let confounds = finding.answers(&claim.confounds);
    if !confounds.is_empty() {
        text += "\nWhat the published result rests on:\n\n";
        text += &comparisons(&confounds, "as expected");
    }
    let changes = plain(&finding.sentence(&claim.changes)?);
    Ok(text + &format!("\nWhat would change this: {changes}\n"))
}

/// Returns a table of comparisons; `last` heads the column of their outcomes.
fn comparisons(answers: &[Answer<'_>], last: &str) -> String {
    let shows = answers.iter().any(|answer| answer.ask.shows.is_some());
    let mut head = vec![
        "network",
        "measure",
        "arm",
        "against",
        "arm took",
        "other took",
        "difference",
        "factor",
        "verdict",
        "claimed",
        last,
    ];
    let row = |answer: &Answer<'_>| {
        let comparison = answer.comparison.as_ref();
        let ask = answer.ask;
        let mut row = vec![
            answer.network.to_owned(),
            ask.measure.as_ref().clone(),
            ask.arm.as_ref().clone(),
            ask.against.as_ref().clone(),
            or_unknown(answer.arm.map(with_interval)),
            or_unknown(answer.against.map(with_interval)),
            or_unknown(comparison.map(|c| with_interval(&c.difference))),
            or_unknown(comparison.and_then(|c| c.speedup.as_ref()).map(factor)),
            or_unknown(comparison.map(|c| verdict(c.verdict, answer.kind).to_owned())),
            claimed(answer),
            answer.outcome.words().to_owned(),
        ];
        if shows {
            row.push(ask.shows.clone().unwrap_or_default());
        }
        row
    };
    if shows {
        head.push("shows");
    }
    let rows: Vec<Vec<String>> = answers.iter().map(row).collect();
    let mut levels: Vec<String> = answers
        .iter()
        .filter_map(|a| a.comparison.as_ref())
        .map(|c| percent(c.difference.coverage))
        .collect();
    levels.sort_unstable();
    levels.dedup();
    let blocks: Vec<usize> = answers
        .iter()
        .filter_map(|a| Some(a.comparison.as_ref()?.difference.blocks))
        .collect();
    let note = match (blocks.iter().min(), blocks.iter().max()) {
        (Some(fewest), Some(most)) => {
            let blocks = match fewest == most {
                true => count(*most, "block"),
                false => format!("{fewest} to {most} blocks"),
            };
            format!(
                "\nIntervals of differences and factors cover {}, those of an arm 95 %; {blocks}. \
                 A factor above 1 favours the arm.\n",
                levels.join(" or ")
            )
        }
        _ => String::new(),
    };
    table(&head, &rows) + &note
}

/// Returns what a claim expects, e.g. `faster, at least 1.5x`.
fn claimed(answer: &Answer<'_>) -> String {
    use crate::claims::Expect::{Faster, NoDifference, Slower, Within};
    use stats::Verdict;
    let ask = answer.ask;
    let mut words = match ask.expect.as_ref() {
        Faster => verdict(Verdict::Faster, answer.kind).to_owned(),
        Slower => verdict(Verdict::Slower, answer.kind).to_owned(),
        NoDifference => verdict(Verdict::NoDifference, answer.kind).to_owned(),
        Within => format!("within {}", duration(ask.within_ms.unwrap_or(0.0) * 1e6)),
    };
    for (bound, name) in [(ask.at_least, "at least"), (ask.at_most, "at most")] {
        if let Some(factor) = bound {
            words += &format!(", {name} {factor}x");
        }
    }
    words
}

fn method(run: &Run) -> String {
    let (passed, all) = run.self_test;
    let a_a = match &run.a_a {
        AaCheck::Inconclusive { undecided } => {
            format!("{} ({})", run.a_a.name(), undecided.join("; "))
        }
        other => other.name().to_owned(),
    };
    let mut facts = vec![
        format!("Question of the run: {}", run.question),
        format!(
            "{} per network planned, seed {}, baseline {}",
            count(run.blocks as usize, "block"),
            run.seed,
            run.baseline
        ),
        format!(
            "{}; self-test {passed}/{all}; A/A check: {a_a}",
            cells_line(&run.cells)
        ),
        format!("Machine: {}", run.hosts.join("; and ")),
    ];
    if run.looked_at_results {
        facts.push(
            "Blocks were added after results could be read: the intervals are wider, so that they \
             hold however often one looks"
                .to_owned(),
        );
    }
    let networks = run.networks.iter();
    facts.extend(networks.map(|n| format!("Network {}: {}", n.name, n.numbers)));
    let list: String = facts
        .iter()
        .map(|fact| format!("- {}.\n", plain(fact)))
        .collect();
    format!("\n## How it was measured\n\n{list}")
}

fn arms(run: &Run) -> String {
    let row = |arm: &crate::run::Arm| {
        vec![
            arm.name.clone(),
            arm.stack.clone(),
            arm.protocols.join(" and "),
            arm.libraries.join(", "),
            format!("{} ({} lost)", arm.calls, arm.lost),
            arm.caveat.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = run.arms.iter().map(row).collect();
    let head = [
        "arm",
        "stack",
        "negotiated",
        "versions",
        "requests",
        "caveat",
    ];
    format!("\n{}", table(&head, &rows))
}

fn repeat(finding: &Finding, run: &Run) -> String {
    let again = match &run.repeat {
        Some(command) => format!("```sh\n{command}\n```\n\n"),
        None => String::new(),
    };
    format!(
        "\n## Repeat it\n\n{again}The values of every block are in [{BLOCKS}]({BLOCKS}), the run in \
         [{RUN}]({RUN}), the claims and the rules that judge them in [{CLAIMS}]({CLAIMS}), the \
         published figures in [{}](../published/{}.csv). `commute findings` makes this page from \
         them; `commute findings extract DIR --study {}` takes the values from a new run.\n",
        finding.name, finding.name, finding.name
    )
}

/// Returns the published tables that are not repeated; that all are listed is checked.
fn not_repeated(finding: &Finding) -> String {
    if finding.claims.not_repeated.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = finding
        .claims
        .not_repeated
        .iter()
        .map(|n| {
            let tables: Vec<&str> = n.tables.iter().map(|t| t.as_ref().as_str()).collect();
            vec![n.what.clone(), n.why.clone(), tables.join(", ")]
        })
        .collect();
    let head = ["published", "why not", "tables"];
    format!("\n## Not repeated\n\n{}", table(&head, &rows))
}
