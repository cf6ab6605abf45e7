//! `commute stacks`: list, install scripts and conformance checks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::{CommandOutput, Sandbox};

/// Runs one case of the conformance suite for a driver that is a shell script without a manifest.
fn check_external(sandbox: &Sandbox, script: &str, case: &str) -> CommandOutput {
    std::fs::create_dir_all(sandbox.home().join("stacks")).unwrap();
    let driver = sandbox.write("external", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&driver, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.run(&["stacks", "check", driver.to_str().unwrap(), "--case", case])
}

#[test]
fn conformance_suite_detects_lying_drivers() {
    let hostile = testing::example("commute-driver-hostile");
    for (lie, case, problem) in [
        ("claims-reuse", "fresh", "reused connection"),
        ("claims-0rtt", "calls", "early data"),
        ("wrong-digest", "downloads", "wrong digest"),
        ("time-before-start", "phases", "before the run was sent"),
        ("same-id-twice", "calls", "twice"),
        ("death", "parallel", "exited"),
    ] {
        let sandbox = Sandbox::new();
        let script = format!("exec {} {lie}", hostile.display());
        check_external(&sandbox, &script, case)
            .exits_with(3)
            .stdout_contains("✗")
            .stdout_contains(problem);
    }
}

#[test]
fn honest_external_driver_passes() {
    let sandbox = Sandbox::new();
    // A driver's own output is not part of the driver protocol.
    let commute = env!("CARGO_BIN_EXE_commute");
    let script = format!("echo a banner; echo another >&2; exec {commute} driver hyper");
    for case in [
        "unknown",
        "wrong-ca",
        "mtls-none",
        "redirect",
        "cancel",
        "phases",
    ] {
        let output = check_external(&sandbox, &script, case).exits_with(0);
        assert!(output.stdout.starts_with("external h1  "), "{output}");
        assert!(!output.stdout.contains("FAIL"), "{output}");
    }
}

#[test]
fn driver_may_use_the_protocol_over_tcp() {
    let sandbox = Sandbox::new();
    sandbox.add_stack("phone", r#""h3""#, &["{commute}", "driver", "quinn"]);
    let manifest = sandbox.home().join("stacks/phone/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap() + "channel = \"tcp\"\n";
    std::fs::write(&manifest, text).unwrap();
    for case in ["unknown", "calls", "early-data"] {
        let check = ["stacks", "check", "phone", "--case", case];
        sandbox.run(&check).exits_with(0).stdout_contains("✓");
    }
}

#[test]
fn expect_reports_regressions() {
    let sandbox = Sandbox::new();
    sandbox.add_stack("hyper", r#""h2""#, &["{commute}", "driver", "hyper"]);
    let check = |args: &[&str]| {
        sandbox.run(&[&["stacks", "check", "hyper", "--case", "unknown"], args].concat())
    };
    check(&["--out", "matrix"]).exits_with(0);
    for file in ["README.md", "index.html", "matrix.json"] {
        assert!(sandbox.work().join("matrix").join(file).is_file(), "{file}");
    }
    for made in ["README.md", "index.html"] {
        std::fs::remove_file(sandbox.work().join("matrix").join(made)).unwrap();
    }
    check(&["--expect", "matrix"]).exits_with(0);
    let twice = ["stacks", "check", "hyper", "hyper", "--case", "unknown"];
    let output = sandbox.run(&twice).exits_with(0);
    output.stderr_contains("1 cases: 1 pass");
    let manifest = sandbox.home().join("stacks/hyper/stack.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let limits = "limits = { unknown = \"no such API\" }\n";
    std::fs::write(&manifest, format!("{text}{limits}")).unwrap();
    check(&["--expect", "matrix"])
        .exits_with(3)
        .stderr_contains("hyper h2 unknown: expected to pass, now unsupported: no such API");
    std::fs::write(&manifest, text.replace("{commute}", "/nowhere")).unwrap();
    check(&["--expect", "matrix"])
        .exits_with(3)
        .stderr_contains("NOT TESTED")
        .stderr_contains("hyper h2 unknown: in the expected matrix, but not run");
}

#[test]
fn list_names_usable_and_unusable_stacks() {
    let sandbox = Sandbox::new();
    sandbox.add_stack("quinn", r#""h3""#, &["{commute}", "driver", "quinn"]);
    sandbox.add_stack("absent", r#""h1""#, &["{stack}/no-such-driver"]);
    sandbox.add_stack("exits", r#""h1""#, &["sh", "-c", "echo exiting; exit 3"]);
    let trace = r"printf 'library not built; run: make it\n\tat Main.main(Main.java:15)\n'; exit 1";
    sandbox.add_stack("traces", r#""h1""#, &["sh", "-c", trace]);
    let output = sandbox.run(&["stacks"]).exits_with(0);
    assert_eq!(output.stderr, "", "progress on what is not a terminal");
    output
        .stdout_contains("rustls")
        .stdout_contains("can: mtls resume early_data")
        .stdout_contains(
            "absent  h1         not usable: \
             not installed (stacks/absent/no-such-driver is missing); needs: make absent",
        )
        .stdout_contains("its log ends: exiting")
        .stdout_contains("its log ends: library not built; run: make it");
    let json = sandbox
        .run(&["stacks", "--format", "json"])
        .exits_with(0)
        .stdout;
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 4);
}

#[test]
fn install_runs_the_stacks_scripts_and_reports_failures() {
    let sandbox = Sandbox::new();
    sandbox.add_stack("good", r#""h1""#, &["{stack}/made"]);
    sandbox.add_stack("bad", r#""h1""#, &["{stack}/made"]);
    for (name, script) in [
        ("good", "touch made"),
        ("bad", "echo no network >&2; exit 1"),
    ] {
        let dir = sandbox.home().join("stacks").join(name);
        std::fs::write(dir.join("prepare"), script).unwrap();
        let text = std::fs::read_to_string(dir.join("stack.toml")).unwrap();
        let text = text.replace("[[driver]]", "install = \"prepare\"\n\n[[driver]]");
        std::fs::write(dir.join("stack.toml"), text).unwrap();
    }
    let output = sandbox.run(&["stacks", "install"]);
    output
        .exits_with(3)
        .stderr_contains("no network")
        .stderr_contains("bad: its install script failed (see above); requires make bad")
        .stderr_contains("not installed: bad");
    assert!(sandbox.home().join("stacks/good/made").is_file());
    sandbox
        .run(&["stacks", "install", "goood"])
        .exits_with(2)
        .stderr_contains("did you mean `good`");
}
