//! Claims on codecs are judged by what the bench measured.

use std::fs;
use std::path::Path;

use findings::build;

use crate::copy::Copy;

const CLAIMS: &str = "made-up/claims.toml";
const BENCH: &str = "made-up/codec.json";

/// Returns the outcomes of the claim's three comparisons, and its own.
fn outcomes(copy: &Copy) -> Vec<String> {
    let page = copy.page();
    let (_, claim) = page.split_once("\n## 4. ").unwrap();
    let (claim, _) = claim.split_once("\n## ").unwrap();
    let own = claim.split("**").nth(1).unwrap().to_owned();
    let rows = claim.lines().filter(|line| line.starts_with("| list "));
    let outcome = |line: &str| {
        line.rsplit(" | ")
            .next()
            .unwrap()
            .trim_end_matches(" |")
            .to_owned()
    };
    rows.map(outcome).chain([own]).collect()
}

#[test]
fn factors_answer_by_the_ends_of_both_intervals() {
    let cell = |from: &str, to: &str| {
        let copy = Copy::new();
        copy.edit(BENCH, from, to);
        outcomes(&copy)
    };
    let same = cell("\"ns\": 1000.0", "\"ns\": 1000.0");
    let excluded = "other size, direction not decided";
    assert_eq!(
        same,
        ["same", "not the same", excluded, "contradicted in part"]
    );
    // Published is 1.47x, so that 0.98x to 2.21x is near.
    for (from, to, first) in [
        (
            "980.0, \"high_ns\": 1020.0",
            "700.0, \"high_ns\": 1020.0",
            "same direction, size not decided",
        ),
        (
            "1450.0, \"high_ns\": 1560.0",
            "1450.0, \"high_ns\": 2300.0",
            "same direction, size not decided",
        ),
        (
            "980.0, \"high_ns\": 1020.0",
            "480.0, \"high_ns\": 520.0",
            "same direction, other size",
        ),
        (
            "980.0, \"high_ns\": 1020.0",
            "980.0, \"high_ns\": 1500.0",
            "not decided",
        ),
        (
            "980.0, \"high_ns\": 1020.0",
            "1600.0, \"high_ns\": 1700.0",
            "not the same",
        ),
    ] {
        assert_eq!(cell(from, to)[0], first, "{to}");
    }
    let slower = cell("2900.0, \"high_ns\": 3100.0", "1500.0, \"high_ns\": 1600.0");
    assert_eq!(slower[1], "same");
}

#[test]
fn codecs_that_were_not_measured_answer_nothing() {
    let copy = Copy::new();
    fs::remove_file(copy.0.path().join(BENCH)).unwrap();
    assert_eq!(outcomes(&copy), ["not run"]);
    assert!(!copy.page().contains("How the codecs were measured"));
}

#[test]
fn a_study_has_the_day_of_its_bench() {
    let copy = Copy::new();
    let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    assert!(index.contains("2025-11-22"), "{index}");
}

#[test]
fn mistakes_in_claims_on_codecs_are_errors_with_file_and_line() {
    for (from, to, error) in [
        (
            "message = \"list\"",
            "message = \"lists\"",
            "made-up/claims.toml:127: unknown message `lists` (did you mean `list`?)",
        ),
        (
            "runtime = \"rust\"",
            "runtime = \"rus\"",
            "made-up/claims.toml:128: unknown runtime `rus` (did you mean `rust`?)",
        ),
        (
            "arm = \"msgpack\"",
            "arm = \"msgpak\"",
            "made-up/claims.toml:130: unknown codec `msgpak` (did you mean `msgpack`?)",
        ),
        (
            "library = \"rmp-serde\"",
            "library = \"JSON::XS\"",
            "made-up/claims.toml:131: unknown library `JSON::XS`; known: rmp-serde",
        ),
        (
            "expect = \"faster\"\nnear = \"quic\"",
            "expect = \"no_difference\"",
            "made-up/claims.toml:134: of a codec a claim expects",
        ),
        (
            "near = \"quic\"",
            "near = \"quick\"",
            "made-up/claims.toml:135: unknown figure `quick` (did you mean `quic`?)",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(CLAIMS, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
    // A figure that is missing, and one below the cost of the loop.
    for is_measured in [false, true] {
        let copy = Copy::new();
        let last = "part = \"encode\"\narm = \"msgpack\"\nlibrary = \"Data::MessagePack\"";
        copy.edit(CLAIMS, last, &last.replace("encode", "decode"));
        if is_measured {
            copy.edit(
                BENCH,
                "\"decode\": null",
                "\"decode\": { \"ns\": 1.0, \"low_ns\": 1.0, \"high_ns\": 1.0, \"samples\": 6 }",
            );
        }
        let found = copy.error();
        assert!(
            found.contains("codec.json has no such figure of `list`"),
            "{found}"
        );
    }
    let copy = Copy::new();
    let found = copy.edit(BENCH, "\"commute\"", "\"other\"").error();
    assert!(
        found.starts_with("made-up/codec.json: missing field `commute`"),
        "{found}"
    );
}
