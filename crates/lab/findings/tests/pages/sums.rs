//! Measures that claims make of others.

use crate::copy::Copy;

const CLAIMS: &str = "made-up/claims.toml";
const NEED: &str = "[[need]]\nmeasure = \"image\"";
const QUESTION: &str =
    "measure = \"image\"\narm = \"quinn h3\"\nagainst = \"hyper h2\"\nexpect = \"faster\"";

/// Returns the made-up study with a sum of these measures, which the first claim asks for.
fn summed(name: &str, of: &str, against: &str) -> Copy {
    let copy = Copy::new();
    let sum = format!("[[sum]]\nmeasure = \"{name}\"\nof = {of}\n\n{NEED}");
    let question = QUESTION.replace("\"image\"", &format!("\"{name}\"\n{against}"));
    copy.edit(CLAIMS, NEED, &sum)
        .edit(CLAIMS, QUESTION, &question);
    copy
}

/// The medians of each block are added, and compared block by block.
#[test]
fn a_sum_is_a_measure_like_others() {
    let name = "first and image";
    let against = format!("against_measure = \"{name}\"");
    let page = summed(name, "[\"first request\", \"image\"]", &against).page();
    let row = page.lines().find(|line| line.contains(name)).unwrap();
    let expected = "| 4g-tether | first and image | quinn h3: 395 ms [394, 403] | \
                    hyper h2: 410.7 ms [409.5, 410.9] | -16 ms [-17, -3] |";
    assert!(row.starts_with(expected), "{row}");
}

#[test]
fn mistakes_in_sums_are_errors_with_file_and_line() {
    let name = "first and image";
    let same = format!("against_measure = \"{name}\"");
    let of = "[\"first request\", \"image\"]";
    let error = summed(name, of, "").error();
    let expected =
        "made-up/claims.toml:104: a comparison of sums needs `against_measure`, e.g. the same sum";
    assert!(error.contains(expected), "{error}");
    let error = summed(name, "[\"image\"]", &same).error();
    assert!(
        error.contains("claims.toml:104: a sum has two parts or more"),
        "{error}"
    );
    let error = summed(name, "[\"first request\", \"imagee\"]", &same).error();
    let expected = "claims.toml:105: unknown measure `imagee` (did you mean `image`?)";
    assert!(error.contains(expected), "{error}");
    let error = summed("all 4 requests", of, "against_measure = \"all 4 requests\"").error();
    let expected = "made-up/made-up.json: the run has a measure `all 4 requests` of its own";
    assert!(error.contains(expected), "{error}");
}
