//! Mistakes in what people write are errors with file and line.

use std::fs;

use crate::copy::Copy;

#[test]
fn mistakes_in_claims_are_errors_with_file_and_line() {
    let file = "made-up/claims.toml";
    for (from, to, error) in [
        (
            "arm = \"quinn h3\"",
            "arm = \"quin h3\"",
            "made-up/claims.toml:22: unknown arm `quin h3` (did you mean `quinn h3`?)",
        ),
        (
            "\"4g-tether\"",
            "\"4g-tehter\"",
            "made-up/claims.toml:20: unknown network `4g-tehter` (did you mean",
        ),
        (
            "measure = \"image\"",
            "measure = \"imag\"",
            "made-up/claims.toml:21: unknown measure `imag` (did you mean",
        ),
        (
            "network = \"4G\"",
            "network = \"5G\"",
            "made-up/claims.toml:10: no published figure",
        ),
        (
            "network = \"4G\"",
            "platform = \"phone\"",
            "made-up/claims.toml:10: 2 published figures",
        ),
        (
            "{quic}",
            "{quick}",
            "made-up/claims.toml:14: nothing is named `quick` (did you mean `quic`?)",
        ),
        (
            "{image.speedup}",
            "{image.sped}",
            "made-up/claims.toml:15: nothing is named `image.sped`",
        ),
        ("at_least = 1.2", "at_lest = 1.2", "unknown field `at_lest`"),
        (
            "at_least = 1.2",
            "within_ms = 2",
            "made-up/claims.toml:24: `within` and `within_ms` go together",
        ),
        (
            "[\"image\", \"bytes on the wire\"]",
            "[\"imag\"]",
            "made-up/claims.toml:118: unknown measure `imag` (did you mean",
        ),
        (
            "arms = [\"hyper h2\", \"quinn h3\"]",
            "arms = [\"hyper h2\", \"quin h3\"]",
            "made-up/claims.toml:119: unknown arm `quin h3` (did you mean",
        ),
        (
            "arms = [\"hyper h2\", \"quinn h3\"]",
            "arms = [\"hyper h2\"]",
            "made-up/claims.toml:116: a table has two arms or more",
        ),
        (
            "page = \"figures.md\"",
            "",
            "made-up/claims.toml:116: a table needs a `page` to stand in",
        ),
        (
            "name = \"images\"",
            "name = \"image\"",
            "figures.md:5: made-up/claims.toml has no [[table]] named `images`",
        ),
        (
            "[\"lan\", \"4g-tether\"]",
            "[]\nname = \"two\"",
            "a named answer has a single network",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(file, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}

#[test]
fn published_figures_that_no_claim_selects_are_errors_with_file_and_line() {
    let copy = Copy::new();
    let selected = "made-up,loading,phone,LAN,";
    let added = "made-up,battery,phone,,QUIC,image,energy,,,,,12,percent,,,document,ok,,\n";
    let both = added.to_owned() + selected;
    copy.edit("published/made-up.csv", selected, &both);
    assert_eq!(
        copy.error(),
        "published/made-up.csv:3: no claim selects this figure of table `battery`: select it in \
         made-up/claims.toml or delete it"
    );
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    copy.edit(claims, "codec = { table = \"claims\" }", "")
        .edit(claims, "near = \"codec\"", "");
    let error = copy.error();
    assert!(error.starts_with("published/made-up.csv:4: "), "{error}");
}

/// A pair that no file has must be extracted, not guessed.
#[test]
fn pairs_that_were_not_extracted_are_errors() {
    let copy = Copy::new();
    let blocks = fs::read_to_string(copy.0.path().join("made-up/made-up.csv")).unwrap();
    let pair = ",hyper h1,quinn h3,";
    let kept: Vec<&str> = blocks.lines().filter(|line| !line.contains(pair)).collect();
    assert!(kept.len() < blocks.lines().count());
    fs::write(copy.0.path().join("made-up/made-up.csv"), kept.join("\n")).unwrap();
    let error = copy.error();
    assert!(
        error.contains("does not compare `hyper h1` with `quinn h3`: extract"),
        "{error}"
    );
}

#[test]
fn mistakes_in_a_page_with_tables_are_errors_with_file_and_line() {
    for (from, to, error) in [
        (
            "<!-- end -->",
            "",
            "figures.md:5: table `images` has no end",
        ),
        (
            "<!-- findings: images -->",
            "",
            "made-up/claims.toml:116: figures.md has no line `<!-- findings: images -->`",
        ),
        (
            "And this.",
            "<!-- findings: images -->",
            "made-up/claims.toml has no [[table]] named `images`, or the page has it twice",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit("figures.md", from, to).error();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn mistakes_in_the_front_are_errors_with_file_and_line() {
    for (from, to, error) in [
        (
            "columns = [\"4G\", \"LAN\"]",
            "columns = []",
            "front.toml:10: a row has a network for each of the 0 columns",
        ),
        (
            "study = \"made-up\"",
            "study = \"mad-up\"",
            "front.toml:8: unknown study `mad-up` (did you mean `made-up`?)",
        ),
        (
            "study = \"made-up\"",
            "study = \"waiting\"",
            "front.toml:8: run waiting was not made yet",
        ),
        (
            "\"lan\"]\nmeasure = \"image\"",
            "\"lam\"]\nmeasure = \"image\"",
            "front.toml:9: unknown network `lam`",
        ),
        (
            "measure = \"image\"",
            "measure = \"imag\"",
            "front.toml:10: unknown measure `imag`",
        ),
        (
            "arm = \"hyper h2\"",
            "arm = \"hyper h4\"",
            "front.toml:11: unknown arm `hyper h4`",
        ),
        (
            "{image.2}",
            "{image.3}",
            "front.toml:13: nothing is named `image.3`",
        ),
        (
            "{image.1}",
            "{image}",
            "front.toml:2: nothing is named `image`",
        ),
        (
            "within_ms = 5",
            "within_ms = 0.001",
            "front.toml:31: the run no longer shows this: ",
        ),
        ("take =", "tak =", "unknown field `tak`"),
    ] {
        let copy = Copy::new();
        let found = copy.edit("front.toml", from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}
