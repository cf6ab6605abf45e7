//! `commute init`: what it writes, and that it overwrites nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::Sandbox;

fn recording() -> String {
    let har = concat!(env!("CARGO_MANIFEST_DIR"), "/../init/tests/shop.har");
    std::fs::read_to_string(har).unwrap()
}

#[test]
fn a_recording_is_written_with_its_bodies() {
    let sandbox = Sandbox::new();
    sandbox.write("shop.har", &recording());
    let output = sandbox.run(&["init", "--har", "shop.har", "--out", "shop.toml"]);
    output
        .exits_with(0)
        .stderr_contains("left out: the header field cookie (37 times)")
        .stderr_contains("to check it: commute run shop.toml --dry-run");
    let read = |file: &str| std::fs::read_to_string(sandbox.work().join(file)).unwrap();
    let study = read("shop.toml");
    assert!(
        study.contains("request = \"shop/orders-request.json\""),
        "{study}"
    );
    assert_eq!(read("shop/orders-request.json").len(), 99);
}

/// The stacks that its arms name.
fn add_stacks(sandbox: &Sandbox) {
    for (name, protocols) in [("okhttp", r#""h2""#), ("cronet", r#""h3""#)] {
        sandbox.add_stack(name, protocols, &["{commute}", "driver", "hyper"]);
    }
}

#[test]
fn every_kind_of_study_can_be_planned() {
    let sandbox = Sandbox::new();
    add_stacks(&sandbox);
    sandbox.write("shop.har", &recording());
    for args in [
        &[][..],
        &["--har", "shop.har", "--out", "shop.toml"],
        &[
            "--curl",
            "curl https://app.example/orders",
            "--out",
            "one.toml",
        ],
    ] {
        sandbox.run(&[&["init"][..], args].concat()).exits_with(0);
        let study = args.last().unwrap_or(&"study.toml");
        sandbox.run(&["run", study, "--dry-run"]).exits_with(0);
    }
}

#[test]
fn nothing_is_overwritten() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["init"])
        .exits_with(0)
        .stderr_contains("study.toml: written");
    let again = sandbox.run(&["init"]);
    again
        .exits_with(2)
        .stderr_contains("study.toml exists already");

    sandbox.write("shop.har", &recording());
    std::fs::create_dir(sandbox.work().join("shop")).unwrap();
    sandbox.write("shop/orders-request.json", "mine");
    let output = sandbox.run(&["init", "--har", "shop.har", "-o", "shop.toml"]);
    output
        .exits_with(2)
        .stderr_contains("shop/orders-request.json exists already");
    assert!(
        !Path::new(&sandbox.work().join("shop.toml")).exists(),
        "half is written"
    );
}

#[test]
fn a_study_goes_to_standard_output_without_files() {
    let sandbox = Sandbox::new();
    sandbox.write("body.json", "{\"page\": 1}");
    let curl = "curl --json @body.json https://app.example/v1/orders";
    let output = sandbox
        .run(&["init", "--curl", curl, "--out", "-"])
        .exits_with(0)
        .stderr_contains("change `response_bytes`");
    let study: &str = &output.stdout;
    assert!(
        study.contains("request_bytes = 11\ncontent_type = \"application/json\""),
        "{study}"
    );
    assert!(study.contains("path = \"/v1/orders\""), "{study}");
}

#[test]
fn mistakes_name_what_would_be_right() {
    let sandbox = Sandbox::new();
    sandbox.write("not.har", "[1]");
    for (code, args, answer) in [
        (
            1,
            &["init", "--har", "not.har"][..],
            "not.har: not a HAR 1.2: ",
        ),
        (
            2,
            &["init", "--har", "none.har"],
            "cannot read none.har: No such file",
        ),
        (
            2,
            &["init", "--curl", "curl -F a=b http://a"],
            "--curl: curl's option -F cannot be taken over",
        ),
        (
            2,
            &["init", "--out", "study"],
            "--out study: name a file that ends in .toml, or -",
        ),
    ] {
        let output = sandbox.run(args).exits_with(code).stderr_contains(answer);
        assert_eq!(
            std::fs::read_dir(sandbox.work()).unwrap().count(),
            1,
            "{output}"
        );
    }
}
