//! `commute studies`: what is listed can be run and printed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::study::{BASIC_NETWORK, SMALL_STUDY};
use common::{Sandbox, repository};

#[test]
fn built_in_studies_are_listed_with_their_questions_and_printed() {
    let sandbox = Sandbox::new();
    let home = repository();
    let home = ["--home", home.to_str().unwrap()];
    let studies = |args: &[&str]| sandbox.run(&[&["studies"], &home[..], args].concat());
    let list = studies(&[]).exits_with(0).stdout;
    let quickstart = list
        .lines()
        .find(|line| line.starts_with("quickstart "))
        .unwrap();
    assert!(quickstart.ends_with("  Which transport for an app's small requests and images?"));

    let json = studies(&["--format", "json"]).exits_with(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json.as_array().unwrap().len(), list.lines().count());
    for study in json.as_array().unwrap() {
        let name = study["name"].as_str().unwrap();
        let text = studies(&[name]).exits_with(0).stdout;
        let printed =
            std::fs::read_to_string(repository().join("studies").join(format!("{name}.toml")));
        assert_eq!(text, printed.unwrap());
    }
    studies(&["quickstat"])
        .exits_with(2)
        .stderr_contains("did you mean `quickstart`?");
}

#[test]
fn a_file_is_printed_too() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let output = sandbox.run(&["studies", "small.toml"]).exits_with(0);
    assert_eq!(output.stdout, SMALL_STUDY);
}

#[test]
fn a_printed_file_controls_no_terminal() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[8m\n# \u{9b}8m\u{202e}a\rb\n";
    sandbox.write("evil.toml", evil);
    let output = sandbox.run(&["studies", "./evil.toml"]).exits_with(0);
    let r = '\u{fffd}';
    assert_eq!(
        output.stdout,
        format!("{r}]0;owned{r}{r}[8m\n# {r}8m{r}a{r}b\n")
    );
}

/// It may be redirected to a file, to be changed.
#[test]
fn a_printed_file_stays_toml() {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    let r = '\u{fffd}';
    for (verb, file) in [("studies", SMALL_STUDY), ("networks", BASIC_NETWORK)] {
        let file = file.replace('\n', "\r\n");
        sandbox.write(
            "mine.toml",
            &format!("# \u{9b}8m\u{202e}\u{200b}\r\n\t# a\n{file}"),
        );
        let output = sandbox.run(&[verb, "./mine.toml"]).exits_with(0);
        assert_eq!(output.stdout, format!("# {r}8m{r}{r}\r\n\t# a\n{file}"));
        toml::from_str::<toml::Table>(&output.stdout).unwrap();
    }
}
