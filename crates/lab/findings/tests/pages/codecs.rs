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
    let excluded = "other size, direction not decided";
    assert_eq!(
        outcomes(&Copy::new()),
        ["same", "not the same", excluded, "contradicted in part"]
    );
    // Published is 1.47x, so that 0.98x to 2.21x is near. JSON takes 1,450 to 1,560 ns.
    for (ns, low_ns, high_ns, expected) in [
        (1000, 700, 1020, "same direction, size not decided"),
        (500, 480, 520, "same direction, other size"),
        (1000, 980, 1450, "not decided"),
        (1000, 980, 1449, "same"),
        (1650, 1600, 1700, "not the same"),
        (1600, 1560, 1700, "not decided"),
    ] {
        let cost = format!("\"ns\": {ns}, \"low_ns\": {low_ns}, \"high_ns\": {high_ns}");
        let found = cell(
            "\"ns\": 1000.0, \"low_ns\": 980.0, \"high_ns\": 1020.0",
            &cost,
        );
        assert_eq!(found[0], expected, "{cost}");
    }
    let json = "\"ns\": 3000.0, \"low_ns\": 2900.0, \"high_ns\": 3100.0";
    let slower = cell(json, "\"ns\": 1550, \"low_ns\": 1500, \"high_ns\": 1600");
    assert_eq!(slower[1], "same");
}

/// The encodings of MessagePack and JSON have 700 and 1,000 bytes.
#[test]
fn factors_per_byte_are_of_rates() {
    let copy = Copy::new();
    copy.edit(
        CLAIMS,
        "part = \"encode\"",
        "part = \"encode\"\nper = \"byte\"",
    );
    let page = copy.page();
    let row = page.lines().find(|line| line.contains("| byte |")).unwrap();
    // 0.7 * 1500 / 1000, of 1450 / 1020 to 1560 / 980.
    assert!(row.contains("| 1.05x [0.99, 1.12] |"), "{row}");
    assert!(row.ends_with("| not decided |"), "{row}");
}

#[test]
fn a_size_is_of_the_claimed_direction() {
    let copy = Copy::new();
    let claim = "expect = \"slower\"\n\n[[claim.codec]]";
    copy.edit(
        CLAIMS,
        claim,
        &claim.replacen('\n', "\nat_least = 1.15\n", 1),
    );
    let json = "\"ns\": 3000.0, \"low_ns\": 2900.0, \"high_ns\": 3100.0";
    copy.edit(
        BENCH,
        json,
        "\"ns\": 1550, \"low_ns\": 1500, \"high_ns\": 1600",
    );
    assert_eq!(outcomes(&copy)[1], "same");
    copy.edit(CLAIMS, "at_least = 1.15", "at_least = 1.4");
    assert_eq!(outcomes(&copy)[1], "same direction, other size");
}

#[test]
fn figures_that_contradict_themselves_are_errors() {
    for (from, to) in [
        ("\"ns\": 1000.0", "\"ns\": 1021.0"),
        ("\"ns\": 1000.0", "\"ns\": 979.0"),
        ("\"low_ns\": 980.0", "\"low_ns\": -1.0"),
        (
            "\"high_ns\": 1020.0, \"samples\": 19",
            "\"high_ns\": 1020.0, \"samples\": 5",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(BENCH, from, to).error();
        let start = "made-up/codec.json: list by msgpack in rust, rmp-serde: a median lies";
        assert!(found.starts_with(start), "{to}: {found}");
    }
}

#[test]
fn a_bench_without_a_commit_or_a_second_measure_says_nothing_of_them() {
    let copy = Copy::new();
    copy.edit(
        BENCH,
        "\"git\": \"0123456789abcdef0123456789abcdef01234567\",",
        "",
    )
    .edit(BENCH, "\"aa\": { \"pairs\": 8, \"agreeing\": 7 },", "");
    let page = copy.page();
    assert!(
        page.contains("measured on 2025-11-22 with commute 0.1.0.\n"),
        "{page}"
    );
    assert!(!page.contains("Measured twice"), "{page}");
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
            "made-up/claims.toml:134: a claim on codecs expects `faster` or `slower`",
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
    let decode = "part = \"encode\"\narm = \"msgpack\"\nlibrary = \"Data::MessagePack\"";
    let cost = |noisy: usize| {
        let ns = "\"ns\": 1.0, \"low_ns\": 1.0, \"high_ns\": 1.0";
        format!("\"decode\": {{ {ns}, \"samples\": 6, \"noisy\": {noisy} }}")
    };
    for (measured, error) in [
        (None, "has no such figure of `list`"),
        (Some(cost(1)), "has noisy samples of `list`"),
        // Then it is JSON's.
        (
            Some(cost(0)),
            "has a figure below the cost of the loop of `list`",
        ),
    ] {
        let copy = Copy::new();
        copy.edit(CLAIMS, decode, &decode.replace("encode", "decode"));
        if let Some(cost) = measured {
            copy.edit(BENCH, "\"decode\": null", &cost);
        }
        let found = copy.error();
        assert!(found.contains(&format!("codec.json {error}")), "{found}");
    }
    let copy = Copy::new();
    let both = "near = \"quic\"\nat_least = 1.1";
    let found = copy.edit(CLAIMS, "near = \"quic\"", both).error();
    assert!(
        found.contains("`near` and `at_least` exclude each other"),
        "{found}"
    );
    let copy = Copy::new();
    let json = "against = \"json\"\nagainst_library = \"JSON::XS\"";
    let itself = "against = \"msgpack\"\nagainst_library = \"Data::MessagePack\"";
    let found = copy.edit(CLAIMS, json, itself).error();
    assert!(
        found.contains("`against` is the arm itself; name another codec or library"),
        "{found}"
    );
    // A codec that another runtime has.
    let copy = Copy::new();
    let json = "\"message\": \"list\", \"codec\": \"json\", \"runtime\": \"perl\"";
    let found = copy
        .edit(BENCH, json, &json.replace("json", "cbor"))
        .error();
    assert!(
        found.contains("unknown codec `json`; known: cbor, msgpack"),
        "{found}"
    );
    let copy = Copy::new();
    let found = copy.edit(BENCH, "\"commute\"", "\"other\"").error();
    assert!(
        found.starts_with("made-up/codec.json: missing field `commute`"),
        "{found}"
    );
}
