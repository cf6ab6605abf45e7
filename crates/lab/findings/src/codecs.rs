//! Codecs in the page of a study: what the bench answers to a claim, and how it measured.

use report::{percent, with_interval};

use crate::bench::{Bench, COVERAGE, COVERAGE_OF_FACTORS, CodecAnswer, FILE};
use crate::words::{factor, plain, sizes, table};

/// Returns the comparisons of codecs that answer a claim; empty if there are none.
pub(crate) fn comparisons(answers: &[CodecAnswer<'_>]) -> String {
    if answers.is_empty() {
        return String::new();
    }
    let row = |answer: &CodecAnswer<'_>| {
        let question = answer.question;
        let [arm, against] = question
            .codecs()
            .map(|(codec, library)| format!("{}, {}", codec.as_ref(), library.as_ref()));
        let (arm_bytes, against_bytes) = (answer.arm_bytes, answer.against_bytes);
        vec![
            question.message.as_ref().clone(),
            question.runtime.as_ref().clone(),
            question.part.name().to_owned(),
            format!("{arm}, {arm_bytes} B: {}", with_interval(&answer.arm)),
            format!(
                "{against}, {against_bytes} B: {}",
                with_interval(&answer.against)
            ),
            question.per.name().to_owned(),
            factor(&answer.speedup),
            expected(answer),
            answer.outcome.words().to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = answers.iter().map(row).collect();
    let head = [
        "message", "runtime", "part", "arm", "against", "per", "factor", "expected", "outcome",
    ];
    format!(
        "\nWarm codecs:\n\n{}\nIntervals of times cover {} within one process and one message, those of factors at \
         least {}. A factor above 1 favours the arm; per byte it is of rates in bytes of each encoding.\n",
        table(&head, &rows),
        percent(COVERAGE),
        percent(COVERAGE_OF_FACTORS)
    )
}

fn expected(answer: &CodecAnswer<'_>) -> String {
    answer.question.direction().to_owned() + &sizes(answer.size)
}

/// Returns how the bench measured.
pub(crate) fn method(bench: &Bench) -> String {
    let mut facts = vec![
        format!(
            "Each figure is a median of {} samples or more, in random order in one process for each runtime",
            bench.fewest_samples()
        ),
        format!("Machine: {}", bench.machine),
    ];
    facts.extend(bench.aa.map(|twice| {
        format!(
            "Measured twice: of {} of {} pairs of figures the interval of the difference covers zero",
            twice.agreeing, twice.pairs
        )
    }));
    let list: String = facts
        .iter()
        .map(|fact| format!("- {}\n", plain(fact)))
        .collect();
    format!(
        "\n## How the codecs were measured\n\n{list}\n```sh\n{}\n```\n\nWhat is kept is in [{FILE}]({FILE}); the \
         [method](../../docs/explanation/codec-bench.md) has its limits.\n",
        neutral::plain(&bench.command)
    )
}
