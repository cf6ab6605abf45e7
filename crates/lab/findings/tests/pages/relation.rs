//! What a page says that our runs do with the claims of a study.

use std::path::Path;

use findings::build;

use crate::copy::Copy;

const CLAIMS: &str = "made-up/claims.toml";
const REPEATS: &str = "relation = \"repeats\"\n";

/// A study repeats another only where its claims say so.
#[test]
fn pages_answer_unless_they_repeat() {
    let copy = Copy::new();
    let repeats = copy.page();
    assert!(repeats.contains("\n\nRepeats [an invented study, 2020]"));
    assert!(repeats.contains("What the published result rests on:"));
    copy.edit(CLAIMS, REPEATS, "");
    let answers = copy.page();
    assert!(answers.contains("\n\nAnswers [an invented study, 2020]"));
    assert!(answers.contains("What the result rests on:"));
    for page in [repeats, answers] {
        assert!(page.contains("|  | published claim | ours |"));
        assert!(page.contains(", the published figures in [made-up.csv]"));
    }
}

#[test]
fn promises_are_not_published_claims() {
    let copy = Copy::new();
    copy.edit(CLAIMS, REPEATS, "relation = \"promises\"\n");
    let page = copy.page();
    assert!(page.contains("\n\nTests the promises of [an invented study, 2020]"));
    assert!(page.contains("|  | promise | ours |"));
    assert!(page.contains(", the promised figures in [made-up.csv]"));
    assert!(!page.contains("published claim") && !page.contains("published result"));
    let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    let (published, own) = index
        .split_once("## Does commute's own client keep its promises?")
        .unwrap();
    assert!(!published.contains("[made-up](made-up/README.md) |"));
    assert!(own.contains("| [made-up](made-up/README.md) |"));
    assert!(own.contains("| study | promise |"));
}

#[test]
fn other_relations_are_errors() {
    let copy = Copy::new();
    let error = copy.edit(CLAIMS, "\"repeats\"", "\"repeat\"").error();
    assert!(error.contains("unknown variant `repeat`"), "{error}");
}

/// A file with a header only is not worth a link.
#[test]
fn pages_without_published_figures_link_none() {
    let copy = Copy::new();
    assert!(copy.page().contains("(../published/made-up.csv)"));
    copy.write_study_without_figures("made-up");
    let page = copy.page();
    assert!(page.contains("[claims.toml](claims.toml). `commute findings`"));
    assert!(!page.contains("published/"), "{page}");
}
