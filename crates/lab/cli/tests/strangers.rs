//! What the study or the network of a stranger can read, and what its outputs can do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use common::study::{BASIC_NETWORK, SMALL_STUDY};
use common::{CommandOutput, Sandbox};

/// A study with a server of its own, as a stranger may write it. It is in a folder of its own.
const STUDY: &str = r#"
name = "stranger"
question = "which transport is fastest?"
networks = ["@NETWORK"]
baseline = "hyper h1"
blocks = 1
timeout_s = 5
[server]
url = "https://api.shop.test"
address = "127.0.0.1:9"
ca = "@CA"
[[arm]]
stack = "hyper"
protocol = "h1"
[[step]]
call = "order"
path = "/v1/orders"
method = "POST"
request = "@BODY"
content_type = "application/octet-stream"
"#;

const SECRET: &str = "SECRET-of-the-user";

/// Writes the files of a stranger beside a file of the user's.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    fs::create_dir_all(sandbox.work().join("study/inner")).unwrap();
    let trace = BASIC_NETWORK.replacen("rate_kbps = 10000", "trace = \"@TRACE\"", 1);
    assert_ne!(trace, BASIC_NETWORK);
    for (file, text) in [
        ("secret", SECRET),
        ("study/inner/body", "a body"),
        ("study/basic.toml", BASIC_NETWORK),
        ("study/ca.pem", "-----BEGIN CERTIFICATE-----\n"),
        ("study/fast.trace", "1\n2\n"),
        ("study/trace.toml", &trace),
    ] {
        sandbox.write(file, text);
    }
    sandbox
}

/// Plans the study with these files instead of harmless ones.
fn planned(sandbox: &Sandbox, [network, ca, body]: [&str; 3], more: &[&str]) -> CommandOutput {
    let text = STUDY
        .replace("@NETWORK", network)
        .replace("@CA", ca)
        .replace("@BODY", body);
    sandbox.write("study/study.toml", &text);
    sandbox.run(&[&["run", "study/study.toml", "--dry-run"], more].concat())
}

#[test]
fn a_study_reads_below_its_folder_only() {
    let sandbox = sandbox();
    let secret = sandbox.work().join("secret").canonicalize().unwrap();
    let secret = secret.to_str().unwrap();
    let folder = sandbox.work().join("study");
    symlink("../secret", folder.join("link")).unwrap();
    symlink("..", folder.join("up")).unwrap();
    symlink("../secret", folder.join("link.toml")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let harmless = ["basic.toml", "ca.pem", "inner/body"];
    planned(&sandbox, harmless, &[]).exits_with(0);
    let refuses = |files: [&str; 3], reason: &str| {
        let output = planned(&sandbox, files, &[]);
        assert!(!output.to_string().contains(SECRET), "{output}");
        output.exits_with(1).stderr_contains(reason);
    };
    let hint = format!("--allow-file {secret}");
    for outside in [
        secret,
        "../secret",
        "link",
        "up/secret",
        "inner/../../secret",
    ] {
        refuses(["basic.toml", "ca.pem", outside], &hint);
        refuses(["basic.toml", outside, "inner/body"], &hint);
        if outside.contains(['/', '.']) {
            refuses([outside, "ca.pem", "inner/body"], &hint);
        }
    }
    refuses(["link.toml", "ca.pem", "inner/body"], &hint);
    for irregular in ["pipe", "inner"] {
        refuses(["basic.toml", "ca.pem", irregular], "not a regular file");
        refuses(
            ["basic.toml", irregular, "inner/body"],
            "not a regular file",
        );
    }
    refuses(["./pipe", "ca.pem", "inner/body"], "not a regular file");
    refuses(
        ["basic.toml", "ca.pem", "/dev/zero"],
        "/dev/zero is outside the study's folder",
    );
    // As the user allows.
    planned(
        &sandbox,
        ["basic.toml", "ca.pem", "link"],
        &["--allow-file", "secret"],
    )
    .exits_with(0)
    .stdout_contains(&format!(
        "the study reads {secret}, which is outside its folder"
    ));
    planned(&sandbox, harmless, &["--allow-file", "nothing"])
        .exits_with(2)
        .stderr_contains("nothing: No such file");
}

#[test]
fn a_linked_study_reads_below_the_folder_of_its_file() {
    let sandbox = sandbox();
    planned(&sandbox, ["basic.toml", "ca.pem", "inner/body"], &[]).exits_with(0);
    symlink("study/study.toml", sandbox.work().join("linked.toml")).unwrap();
    let run = |study: &str| sandbox.run(&["run", study, "--dry-run"]);
    run("linked.toml").exits_with(0);
    planned(&sandbox, ["basic.toml", "ca.pem", "../secret"], &[]).exits_with(1);
    run("linked.toml")
        .exits_with(1)
        .stderr_contains("outside the study's folder");
    // A link in a stranger's folder may lead to anything.
    symlink("../secret", sandbox.work().join("study/other.toml")).unwrap();
    let output = run("study/other.toml").exits_with(1);
    assert!(!output.to_string().contains(SECRET), "{output}");
}

#[test]
fn traces_are_below_the_folder_too_and_are_never_quoted() {
    let sandbox = sandbox();
    let text = fs::read_to_string(sandbox.work().join("study/trace.toml")).unwrap();
    let with = |trace: &str| sandbox.write("study/trace.toml", &text.replace("@TRACE", trace));
    let files = ["trace.toml", "ca.pem", "inner/body"];
    with("fast.trace");
    planned(&sandbox, files, &[]).exits_with(0);
    let show = ["networks", "study/trace.toml"];
    sandbox.run(&show).exits_with(0);
    with("../secret");
    for output in [
        planned(&sandbox, files, &[]).exits_with(1),
        sandbox.run(&show).exits_with(1),
        sandbox
            .run(&["link", "study/trace.toml", "--", "true"])
            .exits_with(125),
        sandbox
            .run(&["networks", "check", "study/trace.toml"])
            .exits_with(1),
    ] {
        assert!(!output.to_string().contains(SECRET), "{output}");
        output.stderr_contains("--allow-file /");
    }
    let allow = ["--allow-file", "secret"];
    for output in [
        planned(&sandbox, files, &allow).exits_with(1),
        sandbox.run(&[&show[..], &allow].concat()).exits_with(1),
    ] {
        assert!(!output.to_string().contains(SECRET), "{output}");
        output.stderr_contains("line 1 of the trace is not a whole number of milliseconds");
    }
    sandbox.write("secret", "1\n2\n");
    planned(&sandbox, files, &allow).exits_with(0);
    sandbox.run(&[&show[..], &allow].concat()).exits_with(0);
}

#[test]
fn mistakes_in_a_studys_network_show_nothing_of_it() {
    let sandbox = sandbox();
    sandbox.write("study/net.toml", &format!("token = \"{SECRET}\"\n"));
    let output = planned(&sandbox, ["net.toml", "ca.pem", "inner/body"], &[]).exits_with(1);
    assert!(!output.to_string().contains(SECRET), "{output}");
    output.stderr_contains(
        "study/net.toml:1:1: not a valid network; `commute networks study/net.toml`",
    );
    // Its user may see it.
    let shown = sandbox.run(&["networks", "study/net.toml"]).exits_with(1);
    shown.stderr_contains(SECRET);
}

#[test]
fn what_a_run_keeps_of_requests_is_for_its_owner_only() {
    let sandbox = sandbox();
    let step = "[[step]]\ncall = \"order\"\npath = \"/v1/orders\"\nrequest = \"study/inner/body\"\n\
                headers = { authorization = \"Bearer SECRET\" }\n";
    let steps = SMALL_STUDY.find("[[step]]").unwrap();
    sandbox.write("own.toml", &format!("{}{step}", &SMALL_STUDY[..steps]));
    sandbox
        .run(&[
            "run",
            "own.toml",
            "--out",
            "run",
            "--no-self-test",
            "--blocks",
            "1",
            "--pcap",
            "--keylog",
            "--qlog",
        ])
        .exits_with(0);
    let run = sandbox.work().join("run");
    let payloads = fs::read_dir(run.join("payloads")).unwrap();
    let private = payloads.map(|entry| entry.unwrap().path());
    let written = ["run.json", "report.html", "report.json"].map(|name| run.join(name));
    for file in private.chain(written) {
        assert_mode(&file, 0o600);
    }
    // The packets and the secrets that decrypt them hold what the header does.
    let mut kept = 0;
    for kind in ["pcap", "keylog", "qlog"].map(|kind| run.join(kind)) {
        assert_mode(&kind, 0o700);
        for cell in fs::read_dir(&kind).unwrap() {
            let cell = cell.unwrap().path();
            assert_mode(&cell, 0o700);
            for file in fs::read_dir(&cell).unwrap() {
                assert_mode(&file.unwrap().path(), 0o600);
                kept += 1;
            }
        }
    }
    assert!(kept >= 4, "{kept}");
    for report in ["report.html", "report.json"] {
        let text = fs::read_to_string(run.join(report)).unwrap();
        assert!(!text.contains("SECRET"), "{report}");
    }
}

fn assert_mode(path: &Path, mode: u32) {
    let found = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(found, mode, "{}: {found:o}", path.display());
}

/// The run's folder may have come with the study.
#[test]
fn links_in_the_runs_folder_lead_nowhere() {
    let sandbox = sandbox();
    let (folder, elsewhere) = (sandbox.work().join("run"), sandbox.work().join("elsewhere"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    let run = |out: &str, more: &[&str]| {
        let run = ["run", "small.toml", "--no-self-test", "--blocks", "1"];
        sandbox.run(&[&run[..], &["--out", out], more].concat())
    };
    symlink(&elsewhere, folder.join("cells")).unwrap();
    run("run", &[])
        .exits_with(1)
        .stderr_contains("run/cells is a symbolic link");
    fs::remove_file(folder.join("cells")).unwrap();
    for report in ["report.html", "report.json"] {
        symlink("../secret", folder.join(report)).unwrap();
    }
    run("run", &[]).exits_with(0);
    assert!(folder.join("report.html").is_file() && !folder.join("report.html").is_symlink());
    sandbox
        .run(&["report", "run", "--hdr", "hdr"])
        .exits_with(0);
    for log in common::file_names(&sandbox.work().join("hdr")) {
        let log = sandbox.work().join("hdr").join(log);
        fs::remove_file(&log).unwrap();
        symlink("../secret", &log).unwrap();
    }
    sandbox
        .run(&["report", "run", "--hdr", "hdr"])
        .exits_with(0);
    for kind in ["pcap", "keylog", "qlog"] {
        let folder = sandbox.work().join(kind);
        fs::create_dir(&folder).unwrap();
        symlink(&elsewhere, folder.join(kind)).unwrap();
        run(kind, &[&format!("--{kind}")])
            .stderr_contains(&format!("{kind}/{kind} is a symbolic link"));
    }
    assert_eq!(common::file_names(&elsewhere), [""; 0]);
    let secret = fs::read_to_string(sandbox.work().join("secret")).unwrap();
    assert_eq!(secret, SECRET);
}
