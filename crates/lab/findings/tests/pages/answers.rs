//! The answers that pages give: which arm they name, and when they name none.

use std::fs;
use std::path::Path;

use findings::build;

use crate::copy::Copy;

/// Where the baseline differs from its copy, nothing is concluded, however clear it looks.
#[test]
fn networks_whose_results_must_not_be_used_decide_nothing() {
    let copy = Copy::new();
    // A front says what such a network no longer shows.
    fs::remove_file(copy.0.path().join("front.toml")).unwrap();
    assert!(copy.page().contains("Ours: **not the same**"));
    let run = "made-up/made-up.json";
    let text = fs::read_to_string(copy.0.path().join(run)).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for network in value["networks"].as_array_mut().unwrap() {
        network["advice"] = serde_json::json!({ "advice": "invalid" });
    }
    fs::write(copy.0.path().join(run), value.to_string()).unwrap();
    let page = copy.page();
    assert!(page.contains("Ours: **not decided**") && !page.contains("Ours: **not the same**"));
    let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    assert!(index.contains("the results must not be used"));
}

/// An arm that no app should take is not named, however fast it is.
#[test]
fn excepted_arms_are_not_recommended() {
    let copy = Copy::new();
    let claims = "made-up/claims.toml";
    let row = |copy: &Copy| {
        let index = build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
        let mut rows = index
            .lines()
            .filter(|line| line.starts_with("| 4g-tether "));
        rows.next().unwrap().to_owned()
    };
    let words = "words = \"an image\"";
    let with = |arms: &str| format!("{words}\nexcept = {arms}");
    assert!(row(&copy).contains("| hyper h2 | no other is faster; undecided: hyper h1 |"));
    copy.edit(claims, words, &with("[\"hyper h1\"]"));
    assert!(row(&copy).contains("| hyper h2 | no other is faster |"));
    let copy = Copy::new();
    copy.edit(claims, words, &with("[\"hyper h2\"]"));
    assert!(row(&copy).contains("| undecided | among hyper h1 |"));
    let copy = Copy::new();
    let error = copy.edit(claims, words, &with("[\"hyper h4\"]")).error();
    assert!(
        error.contains("claims.toml:104: unknown arm `hyper h4`"),
        "{error}"
    );
}

/// An answer that servers disagree on names none.
#[test]
fn answers_depend_on_the_server_where_servers_disagree() {
    let copy = Copy::new();
    let index = || build(copy.0.path()).unwrap()[Path::new("README.md")].clone();
    let row = |index: &str| {
        let mut rows = index.lines().filter(|line| line.starts_with("| lan "));
        rows.next().unwrap().to_owned()
    };
    let disagree = row(&index());
    assert!(disagree.contains("| depends on the server |"), "{disagree}");
    let (slowest, fastest) = disagree.split_once(" to ").unwrap();
    assert!(
        slowest.ends_with("| no difference (hyper h1)"),
        "{disagree}"
    );
    assert!(
        fastest.contains("faster (quinn h3), against hyper h2"),
        "{disagree}"
    );
    let claims = "made-up/claims.toml";
    copy.edit(
        claims,
        "arms = [\"quinn h3\", \"hyper h1\"]",
        "arms = [\"quinn h3\"]",
    );
    let agree = row(&index());
    assert!(!agree.contains("depends on the server"), "{agree}");
    assert!(agree.contains("by server"), "{agree}");
    for (from, to, error) in [
        (
            "run = \"made-up\"",
            "run = \"other\"",
            "claims.toml:107: this run was not made yet",
        ),
        (
            "named = \"4g-tether\"",
            "named = \"4g\"",
            "claims.toml:111: 4g has no comparison of it with `hyper h2`",
        ),
    ] {
        let copy = Copy::new();
        let found = copy.edit(claims, from, to).error();
        assert!(found.contains(error), "{to}: {found}");
    }
}
