//! Pages are made again from what is kept, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod archive;
mod codecs;
mod copy;
mod mistakes;
mod relation;
mod sums;

use std::fs;
use std::path::Path;

use findings::{build, differing, write_all};
use testing::{HOSTILE_NAME, INTERPRETED, golden};

use crate::copy::{Copy, fixture};

#[test]
fn the_made_up_pages_are_made_again() {
    let files = build(&fixture()).unwrap();
    let names: Vec<&str> = files.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "README.md",
            "figures.md",
            "made-up/README.md",
            "made-up/figure.svg"
        ]
    );
    for (path, text) in &files {
        golden(fixture().join(path), text);
    }
}

/// The gate's check of `findings/`: what is committed is what `commute findings` makes.
#[test]
fn the_committed_pages_are_made_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../findings");
    let files = build(&root).unwrap();
    let differing = differing(&root, &files);
    assert!(differing.is_empty(), "run `make findings`: {differing:?}");
}

#[test]
fn files_that_differ_or_are_missing_are_found() {
    let copy = Copy::new();
    let files = build(copy.0.path()).unwrap();
    assert_eq!(differing(copy.0.path(), &files).len(), 3);
    write_all(copy.0.path(), &files).unwrap();
    assert!(differing(copy.0.path(), &files).is_empty());
    fs::write(copy.0.path().join("README.md"), "other").unwrap();
    assert_eq!(differing(copy.0.path(), &files), [Path::new("README.md")]);
}

/// The lines between the marks are the command's, the others stay.
#[test]
fn tables_in_a_page_follow_their_data() {
    let copy = Copy::new();
    let page = || build(copy.0.path()).unwrap()[Path::new("figures.md")].clone();
    let before = page();
    copy.edit("figures.md", "| lan |", "| by hand |");
    assert_eq!(page(), before);
    copy.edit("figures.md", "And this.", "And that.");
    assert_eq!(page(), before.replace("And this.", "And that."));
}

/// Other data, other page: no number of it is written by hand.
#[test]
fn pages_follow_their_data() {
    let copy = Copy::new();
    let before = copy.page();
    copy.edit("published/made-up.csv", ",1.47,", ",1.31,");
    let after = copy.page();
    assert!(before.contains("1.47x") && after.contains("1.31x") && !after.contains("1.47x"));
}

/// Names come from records and claims that anyone may write.
#[test]
fn names_do_nothing_in_a_browser() {
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    let hostile = serde_json::to_string(HOSTILE_NAME).unwrap();
    for (key, name) in [
        ("title", "\"HTTP/2 or HTTP/3 for a list and an image?\""),
        ("title", "\"Times as fast as HTTP/2\""),
        ("label", "\"lan\""),
        ("words", "\"an image\""),
        ("what", "\"energy\""),
    ] {
        copy.edit(
            claims,
            &format!("{key} = {name}"),
            &format!("{key} = {hostile}"),
        );
    }
    let run = copy.0.path().join("made-up/made-up.json");
    let text = fs::read_to_string(&run).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["question", "commute"] {
        value[key] = HOSTILE_NAME.into();
    }
    value["repeat"] = format!("commute run\n```\n{HOSTILE_NAME}").into();
    for key in ["hosts", "notes"] {
        value[key] = serde_json::json!([HOSTILE_NAME]);
    }
    value["networks"][0]["numbers"] = HOSTILE_NAME.into();
    for key in ["client", "caveats"] {
        value["arms"][0][key] = serde_json::json!([HOSTILE_NAME]);
    }
    fs::write(&run, value.to_string()).unwrap();
    let bench = copy.0.path().join("made-up/codec.json");
    let mut value: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&bench).unwrap()).unwrap();
    for key in ["commute", "machine"] {
        value[key] = HOSTILE_NAME.into();
    }
    value["command"] = format!("commute codec\n```\n{HOSTILE_NAME}").into();
    for row in value["rows"].as_array_mut().unwrap() {
        if row["library"] == "rmp-serde" {
            row["library"] = HOSTILE_NAME.into();
        }
    }
    fs::write(&bench, value.to_string()).unwrap();
    let library = "library = \"rmp-serde\"";
    for _ in 0..2 {
        copy.edit(claims, library, &format!("library = {hostile}"));
    }
    let files = build(copy.0.path()).unwrap();
    for (path, text) in &files {
        let name = path.display().to_string();
        assert!(!text.contains(INTERPRETED), "{name}: {text}");
        // The study's own figure.
        let lines = text.lines().filter(|line| !line.ends_with("](figure.svg)"));
        match path.extension().is_some_and(|end| end == "svg") {
            true => testing::check_harmless(&name, text),
            false => {
                let markdown: String = lines.map(|line| format!("{line}\n")).collect();
                testing::check_harmless(&name, &testing::rendered(&markdown));
            }
        }
    }
}
