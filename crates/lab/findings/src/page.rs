//! The page of one study, `STUDY/README.md`.

use config::ConfigError;
use report::{AaCheck, Quantity, cells_line, count, duration, percent, with_interval};

use crate::answer::Answer;
use crate::claims::Claim;
use crate::codecs;
use crate::cost;
use crate::finding::{CLAIMS, Finding};
use crate::ours::files;
use crate::outcome::Outcome;
use crate::run::Run;
use crate::words::{block_count, factor, or_unknown, plain, sizes, table, verdict, version};

/// The chart of a study.
pub(crate) const CHART: &str = "figure.svg";

const MADE: &str = "<!-- Made by `commute findings`. Edit claims.toml instead. -->\n\n";

/// Returns the page of a study that has a run.
pub(crate) fn page(finding: &Finding) -> Result<String, ConfigError> {
    let claims = &finding.claims;
    let runs = || finding.ours.values().map(|ours| &ours.run);
    let ours = finding.ours.values();
    let mut text = format!(
        "{MADE}# {}\n\n{} [{}]({}). ",
        plain(&claims.title),
        claims.relation.lead(),
        plain(&claims.study),
        claims.link
    );
    for run in runs() {
        text += &format!(
            "Run {} was measured on {} with {}. ",
            plain(&run.study),
            plain(&run.date),
            plain(&version(&run.commute, &run.commits))
        );
    }
    for name in claims
        .runs
        .iter()
        .filter(|name| !finding.ours.contains_key(*name))
    {
        text += &format!("Run {} was not made yet. ", plain(name));
    }
    if let Some(bench) = &finding.bench {
        text += &format!(
            "The codecs were measured on {} with {}. ",
            plain(&bench.date()),
            plain(&bench.version())
        );
    }
    text = text.trim_end().to_owned() + "\n\n";
    for line in runs().flat_map(warnings) {
        text += &format!("**{}**\n\n", plain(&line));
    }
    text += &summary(finding)?;
    if let Some(chart) = &claims.figure {
        text += &format!("\n![{}]({CHART})\n", plain(&chart.title));
    }
    for (i, claim) in claims.claims.iter().enumerate() {
        text += &section(finding, claim, i + 1)?;
    }
    text += &finding
        .bench
        .as_ref()
        .map(codecs::method)
        .unwrap_or_default();
    for ours in ours {
        text += &method(&ours.run);
        text += &arms(&ours.run);
        text += &cost::section(ours);
    }
    text += &repeat(finding);
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
        lines.push(format!("The A/A check failed: {}.", objections.join("; ")));
    }
    lines
}

/// Returns the claims in one table.
fn summary(finding: &Finding) -> Result<String, ConfigError> {
    let claims = finding.claims.claims.iter().enumerate();
    let rows = claims.map(|(i, claim)| {
        let outcome = finding.outcome(claim);
        Ok(vec![
            (i + 1).to_string(),
            finding.sentence(&claim.says)?,
            outcome.words().to_owned(),
        ])
    });
    let rows: Vec<Vec<String>> = rows.collect::<Result<_, ConfigError>>()?;
    Ok(table(&["", finding.claims.relation.claim(), "ours"], &rows))
}

fn section(finding: &Finding, claim: &Claim, number: usize) -> Result<String, ConfigError> {
    let mut text = format!(
        "\n## {number}. {}\n\nOurs: **{}**. {}\n",
        plain(&finding.sentence(&claim.says)?),
        finding.outcome(claim).words(),
        plain(&finding.sentence(&claim.because)?),
    );
    let answers = finding.answers(&claim.answers);
    if !answers.is_empty() {
        text += &format!("\n{}", comparisons(&answers, Outcome::words));
    }
    text += &codecs::comparisons(&finding.codec_answers(&claim.codecs));
    let confounds = finding.answers(&claim.confounds);
    if !confounds.is_empty() {
        text += &format!("\nWhat {} rests on:\n\n", finding.claims.relation.result());
        text += &comparisons(&confounds, shown);
    }
    let changes = plain(&finding.sentence(&claim.changes)?);
    Ok(text + &format!("\nWhat would change this: {changes}\n"))
}

/// Returns a table of comparisons; `outcome` returns the words for the outcome of each.
fn comparisons(answers: &[Answer<'_>], outcome: fn(Outcome) -> &'static str) -> String {
    let shows = answers.iter().any(|answer| answer.question.shows.is_some());
    let mut head = vec![
        "network",
        "measure",
        "arm",
        "against",
        "difference",
        "factor",
        "verdict",
        "expected",
        "outcome",
    ];
    let row = |answer: &Answer<'_>| {
        let comparison = answer.comparison.as_ref();
        let question = answer.question;
        let took = |arm: &str, median: Option<&Quantity>| match median {
            Some(median) => format!("{arm}: {}", with_interval(median)),
            None => arm.to_owned(),
        };
        let against = match &question.against_measure {
            Some(measure) if measure.as_ref() != question.measure.as_ref() => {
                format!("{}, {}", question.against.as_ref(), measure.as_ref())
            }
            _ => question.against.as_ref().clone(),
        };
        let mut row = vec![
            answer.network.to_owned(),
            question.measure.as_ref().clone(),
            took(question.arm.as_ref(), answer.arm),
            took(&against, answer.against),
            or_unknown(comparison.map(|c| with_interval(&c.difference))),
            or_unknown(comparison.and_then(|c| c.speedup.as_ref()).map(factor)),
            or_unknown(comparison.map(|c| verdict(c.verdict, answer.kind).to_owned())),
            expected(answer),
            outcome(answer.outcome).to_owned(),
        ];
        if shows {
            row.push(question.shows.clone().unwrap_or_default());
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
    let note = match block_count(&blocks) {
        Some(blocks) => format!(
            "\nIntervals of differences and factors cover {}, those of an arm 95 %; {blocks}. \
             A factor above 1 favours the arm.\n",
            levels.join(" or ")
        ),
        None => String::new(),
    };
    table(&head, &rows) + &note + &reasons(answers)
}

/// Returns the measured reasons of the differences.
fn reasons(answers: &[Answer<'_>]) -> String {
    let line = |answer: &Answer<'_>| {
        let reason = answer.reason?;
        let (arm, network) = (answer.question.arm.as_ref(), answer.network);
        let lead = format!("- {arm}, {network}, {}: ", answer.question.measure.as_ref());
        Some(plain(&lead) + &plain(&reason.words) + "\n")
    };
    let lines: String = answers.iter().filter_map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\nMeasured parts of these differences:\n\n{lines}"),
    }
}

/// Returns the words for whether a comparison shows what the result rests on.
fn shown(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Same => "shown",
        Outcome::NotSame => "not shown",
        other => other.words(),
    }
}

/// Returns what is expected of an arm, e.g. `faster, at least 1.5x`.
fn expected(answer: &Answer<'_>) -> String {
    use crate::expect::Expect::{Faster, NoDifference, Slower, Within};
    use stats::Verdict;
    let question = answer.question;
    let words = match question.expect.as_ref() {
        Faster => verdict(Verdict::Faster, answer.kind).to_owned(),
        Slower => verdict(Verdict::Slower, answer.kind).to_owned(),
        NoDifference => verdict(Verdict::NoDifference, answer.kind).to_owned(),
        Within => format!(
            "within {}",
            duration(question.within_ms.unwrap_or(0.0) * 1e6)
        ),
    };
    words + &sizes(answer.size)
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
    facts.extend(
        run.notes
            .iter()
            .map(|note| note.trim_end_matches('.').to_owned()),
    );
    let networks = run.networks.iter();
    facts.extend(networks.map(|n| format!("Network {}: {}", n.name, n.numbers)));
    let list: String = facts
        .iter()
        .map(|fact| format!("- {}\n", plain(fact)))
        .collect();
    format!("\n## How {} was measured\n\n{list}", plain(&run.study))
}

fn arms(run: &Run) -> String {
    let row = |arm: &crate::run::Arm| {
        vec![
            arm.name.clone(),
            arm.stack.clone(),
            arm.asked.clone(),
            arm.protocols.join(" and "),
            arm.client.join(", "),
            arm.server.join(", "),
            format!("{} ({} lost)", arm.calls, arm.lost),
            arm.caveats.join("; "),
        ]
    };
    let rows: Vec<Vec<String>> = run.arms.iter().map(row).collect();
    let head = [
        "arm",
        "stack",
        "asked for",
        "negotiated",
        "client",
        "server",
        "requests",
        "caveats",
    ];
    format!("\n{}", table(&head, &rows))
}

fn repeat(finding: &Finding) -> String {
    let name = &finding.name;
    let runs = || finding.ours.values().map(|ours| &ours.run);
    let commands: String = runs()
        .filter_map(|run| run.repeat.as_ref())
        .map(|command| format!("{}\n", neutral::plain(command)))
        .collect();
    let again = match commands.is_empty() {
        true => String::new(),
        false => format!("```sh\n{commands}```\n\n"),
    };
    let kept: Vec<String> = runs()
        .map(|run| {
            let (header, values) = files(&run.study);
            format!("[{header}]({header}) and, for every block, [{values}]({values})")
        })
        .collect();
    // A study whose figures are not compared has a file with a header only.
    let figures = match finding.published.is_empty() {
        true => String::new(),
        false => format!(
            ", the {} in [{name}.csv](../published/{name}.csv)",
            finding.claims.relation.figures()
        ),
    };
    format!(
        "\n## Repeat it\n\n{again}What is kept of the runs is in {}; the claims and the rules that \
         judge them are in [{CLAIMS}]({CLAIMS}){figures}. `commute findings` makes this page from \
         them; `commute findings extract DIR --study {name}` takes the values from a new run.\n",
        kept.join("; in ")
    )
}

/// Returns the published tables that are not repeated.
fn not_repeated(finding: &Finding) -> String {
    if finding.claims.not_repeated.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = finding
        .claims
        .not_repeated
        .iter()
        .map(|n| vec![n.what.clone(), n.why.clone(), n.tables.join(", ")])
        .collect();
    let head = ["published", "why not", "tables"];
    format!("\n## Not repeated\n\n{}", table(&head, &rows))
}
