//! `commute stacks`: what is there is listed, what is asked for is prepared, and the suite
//! passes the honest and no other.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::{House, Said, driver};

/// Checks one case of a stranger's driver, which is this shell script.
fn check(house: &House, script: &str, case: &str) -> Said {
    std::fs::create_dir_all(house.home().join("stacks")).unwrap();
    let stranger = house.write("stranger", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&stranger, std::fs::Permissions::from_mode(0o755)).unwrap();
    house.run(&[
        "stacks",
        "check",
        stranger.to_str().unwrap(),
        "--case",
        case,
    ])
}

#[test]
fn the_suite_finds_each_lie() {
    let hostile = driver("examples/commute-driver-hostile");
    for (lie, case, found) in [
        ("claims-reuse", "fresh", "reused connection"),
        ("claims-0rtt", "calls", "early data"),
        ("wrong-digest", "downloads", "wrong digest"),
        ("time-before-start", "phases", "before the run was sent"),
        ("same-id-twice", "calls", "twice"),
        ("death", "parallel", "exited"),
    ] {
        let house = House::new();
        let script = format!("exec {} {lie}", hostile.display());
        check(&house, &script, case)
            .code(3)
            .prints("✗")
            .prints(found);
    }
}

#[test]
fn a_stranger_s_driver_that_is_honest_passes() {
    let house = House::new();
    let hyper = driver("commute-driver-hyper");
    // What a library prints is no part of the conversation.
    let script = format!("echo a banner; echo another >&2; exec {}", hyper.display());
    for case in [
        "unknown",
        "wrong-ca",
        "mtls-none",
        "redirect",
        "cancel",
        "phases",
    ] {
        let said = check(&house, &script, case).code(0);
        assert!(said.out.starts_with("stranger h1  "), "{said}");
        assert!(!said.out.contains("FAIL"), "{said}");
    }
}

#[test]
fn a_driver_may_connect_as_one_on_a_phone_does() {
    let house = House::new();
    driver("commute-driver-quinn");
    house.stack("phone", r#""h3""#, &["{bin}/commute-driver-quinn"]);
    let manifest = house.home().join("stacks/phone/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap() + "channel = \"tcp\"\n";
    std::fs::write(&manifest, text).unwrap();
    for case in ["unknown", "calls", "early-data"] {
        let check = ["stacks", "check", "phone", "--case", case];
        house.run(&check).code(0).prints("✓");
    }
}

#[test]
fn what_passed_once_must_not_become_unsupported_or_go_missing() {
    let house = House::new();
    driver("commute-driver-hyper");
    house.stack("hyper", r#""h2""#, &["{bin}/commute-driver-hyper"]);
    let run = |args: &[&str]| {
        house.run(&[&["stacks", "check", "hyper", "--case", "unknown"], args].concat())
    };
    run(&["--out", "matrix"]).code(0);
    for page in ["README.md", "index.html", "matrix.json"] {
        assert!(house.work().join("matrix").join(page).is_file(), "{page}");
    }
    run(&["--expect", "matrix"]).code(0);
    let manifest = house.home().join("stacks/hyper/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let excuse = "limits = { unknown = \"it has no ears\" }\n";
    std::fs::write(&manifest, format!("{text}{excuse}")).unwrap();
    run(&["--expect", "matrix"])
        .code(3)
        .complains("hyper h2 unknown: expected to pass, now unsupported: it has no ears");
    std::fs::write(&manifest, text.replace("{bin}", "/nowhere")).unwrap();
    run(&["--expect", "matrix"])
        .code(3)
        .complains("NOT TESTED")
        .complains("hyper h2 unknown: in the expected matrix, but not tried");
}

#[test]
fn the_list_says_what_is_there_and_what_is_not() {
    let house = House::new();
    driver("commute-driver-quinn");
    house.stack("quinn", r#""h3""#, &["{bin}/commute-driver-quinn"]);
    house.stack("absent", r#""h1""#, &["{stack}/no-such-driver"]);
    house.stack("silent", r#""h1""#, &["sh", "-c", "echo going; exit 3"]);
    let said = house.run(&["stacks"]).code(0);
    assert_eq!(said.err, "", "progress is for terminals");
    said.prints("rustls")
        .prints("can: mtls resume early_data")
        .prints(
            "absent  h1         not usable: \
             not installed (stacks/absent/no-such-driver is missing); needs: make absent",
        )
        .prints("its log ends: going");
    let json = house.run(&["stacks", "--json"]).code(0).out;
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 3);
}

#[test]
fn installing_runs_the_folder_s_script_and_says_when_it_fails() {
    let house = House::new();
    house.stack("good", r#""h1""#, &["{stack}/made"]);
    house.stack("bad", r#""h1""#, &["{stack}/made"]);
    for (name, script) in [
        ("good", "touch made"),
        ("bad", "echo no network >&2; exit 1"),
    ] {
        let dir = house.home().join("stacks").join(name);
        std::fs::write(dir.join("prepare"), script).unwrap();
        let text = std::fs::read_to_string(dir.join("stack.toml")).unwrap();
        let text = text.replace("[[driver]]", "install = \"prepare\"\n\n[[driver]]");
        std::fs::write(dir.join("stack.toml"), text).unwrap();
    }
    let said = house.run(&["stacks", "install"]);
    said.code(3)
        .complains("no network")
        .complains("bad: its install script failed (see above); requires make bad")
        .complains("not installed: bad");
    assert!(house.home().join("stacks/good/made").is_file());
    house
        .run(&["stacks", "install", "goood"])
        .code(1)
        .complains("did you mean `good`");
}
