//! `commute init`: what it writes, and that it overwrites nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{CommandOutput, Sandbox, User};

fn recording() -> String {
    let har = concat!(env!("CARGO_MANIFEST_DIR"), "/../init/tests/shop.har");
    std::fs::read_to_string(har).unwrap()
}

/// Returns a sandbox with stacks of these names, each with a Rust driver behind it.
fn sandbox_with(stacks: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, driver) in stacks {
        sandbox.add_stack(name, r#""h2", "h3""#, &["{commute}", "driver", driver]);
    }
    sandbox
}

const APPS: &[(&str, &str)] = &[("okhttp", "hyper"), ("cronet", "quinn")];
const BUILT_IN: &[(&str, &str)] = &[("hyper", "hyper"), ("quinn", "quinn")];
/// In which Cronet has no HTTP/3.
const WITHOUT_H3: &[(&str, &str)] = &[
    ("okhttp", "hyper"),
    ("cronet", "hyper"),
    ("hyper", "hyper"),
    ("quinn", "quinn"),
];

#[test]
fn a_recording_is_written_with_its_bodies() {
    let sandbox = sandbox_with(APPS);
    sandbox.write("shop.har", &recording());
    let output = sandbox.run(&["init", "--har", "shop.har", "--out", "shop.toml"]);
    output
        .exits_with(0)
        .stderr_contains("left out: the header field cookie (23 times)")
        .stderr_contains("to check it: commute run shop.toml --dry-run")
        .stderr_contains(
            "the study measures 4g-tether and true-metro, with 10 blocks instead of 14",
        )
        .stderr_contains("to run it: commute run shop.toml --jobs 2, about 9 min;");
    let read = |file: &str| std::fs::read_to_string(sandbox.work().join(file)).unwrap();
    let study = read("shop.toml");
    assert!(
        study.contains("request = \"shop/orders-request.json\""),
        "{study}"
    );
    assert_eq!(read("shop/orders-request.json").len(), 99);
}

#[test]
fn every_kind_of_study_can_be_planned() {
    let sandbox = sandbox_with(APPS);
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

/// Without its baseline a study gives no answer.
#[test]
fn the_study_compares_what_is_installed() {
    for (stacks, baseline, says_so) in [(APPS, "okhttp h2", false), (BUILT_IN, "hyper h2", true)] {
        let sandbox = sandbox_with(stacks);
        let output = sandbox.run(&["init"]).exits_with(0);
        assert_eq!(
            output.stderr.contains("commute stacks install jvm cronet"),
            says_so
        );
        let text = std::fs::read_to_string(sandbox.work().join("study.toml")).unwrap();
        assert!(
            text.contains(&format!("baseline = \"{baseline}\"")),
            "{text}"
        );
    }
}

#[test]
fn arms_that_cannot_do_the_study_are_left_out() {
    let sandbox = sandbox_with(WITHOUT_H3);
    sandbox.write("shop.har", &recording());
    let output = sandbox.run(&["init", "--har", "shop.har", "--out", "shop.toml"]);
    output
        .exits_with(0)
        .stderr_contains("note: OkHttp and Cronet are left out")
        .stderr_contains("arm `cronet h3`: hyper does not offer h3");
    let text = std::fs::read_to_string(sandbox.work().join("shop.toml")).unwrap();
    assert!(text.contains("baseline = \"hyper h2\""), "{text}");
    assert!(!text.contains("stack = \"cronet\""), "{text}");
}

#[test]
fn nothing_is_overwritten() {
    let sandbox = sandbox_with(APPS);
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
    let sandbox = sandbox_with(APPS);
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
fn kept_values_are_listed_without_the_values() {
    let sandbox = sandbox_with(APPS);
    let curl = "curl 'https://app.example/v1/orders?page=HIDDEN&token=HIDDEN'";
    let all = ["init", "--curl", curl, "--out", "-", "--show-values"];
    let output = sandbox
        .run(&[&all[..], &["--keep-values"]].concat())
        .exits_with(0)
        .stderr_contains("value kept: `page` in the query of a URL (6 bytes): no credential")
        .stderr_contains(
            "value left out: `token` in the query of a URL (6 bytes): its name has `token`",
        );
    assert!(!output.stderr.contains("HIDDEN"), "{output}");
    sandbox
        .run(&all)
        .exits_with(2)
        .stderr_contains("--show-values: no values are kept; add --keep-values or --server");
}

#[test]
fn mistakes_name_what_would_be_right() {
    let sandbox = sandbox_with(APPS);
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
            "--curl: a study states the body that -F makes by its size",
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

#[test]
fn recordings_and_bodies_come_from_standard_input_too() {
    // Where apps' libraries are left out, the study is written twice.
    let sandbox = sandbox_with(WITHOUT_H3);
    sandbox.write("shop.har", &recording());
    sandbox.write("body.json", "{\"page\": 1}");
    let piped = |file: &str, args: &str| {
        let script = format!("cat {file} | \"$0\" init --out - {args}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_commute")]);
        sandbox.configure(&mut command, User::Caller);
        CommandOutput::of(command).exits_with(0)
    };
    piped("shop.har", "--har -").stdout_contains("# Written from a HAR: 23 requests in 8 groups.");
    piped("body.json", "--curl 'curl --json @- https://a.example'")
        .stdout_contains("request_bytes = 11");
}

#[test]
fn a_study_for_a_server_of_the_users_own_can_be_planned() {
    let sandbox = sandbox_with(APPS);
    sandbox.write("shop.har", &recording());
    let init = [
        "init",
        "--har",
        "shop.har",
        "--server",
        "https://api.shop.example",
    ];
    sandbox
        .run(&init)
        .exits_with(0)
        .stderr_contains("left out: a request to https://img.shop.example:443");
    sandbox
        .run(&["run", "study.toml", "--dry-run"])
        .exits_with(0)
        .stdout_contains("https://api.shop.example:443 gets up to ");
    sandbox
        .run(&[
            "init",
            "--server",
            "https://api.shop.example",
            "--out",
            "none.toml",
        ])
        .exits_with(2)
        .stderr_contains("name the requests, too");
}
