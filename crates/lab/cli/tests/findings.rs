//! `commute findings`: from a run to a page, and the check that a page is what its data make.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::Sandbox;

const CLAIMS: &str = r#"
title = "HTTP/3 or HTTP/2?"
study = "an invented study"
link = "https://example.org"
runs = ["field"]

[figures]
gain = { table = "times" }

[[claim]]
says = "HTTP/3 is {gain} as fast."
because = "It is {ours.speedup} here."
changes = "Nothing."

[[claim.answer]]
name = "ours"
networks = ["train"]
measure = "warm requests"
arm = "h3"
against = "h2"
expect = "faster"
near = "gain"
"#;

const PUBLISHED: &str = "study,table,platform,network,arm,workload,statistic,run,param,param_value,n,\
    value,unit,published,published_unit,basis,flag,source,note\n\
    invented,times,,,,,ratio,,,,,1.3,ratio,,,document,ok,,\n";

/// Returns invented measurements: eight blocks in which h3 takes 100 ms and h2 130 ms.
fn field() -> String {
    let mut text = String::from("network,arm,protocol,block,group,end_ns\n");
    for block in 0..8 {
        let noise = block * 37_000 % 400_000;
        text += &format!("train,h2,h2,{block},first,{}\n", 130_000_000 + noise);
        text += &format!("train,h3,h3,{block},first,{}\n", 100_000_000 + noise);
    }
    text
}

#[test]
fn outside_the_repository_it_says_what_it_needs() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["findings"])
        .exits_with(2)
        .stderr_contains("there is no folder findings: ")
        .stderr_contains("name such a folder with --dir");
}

#[test]
fn a_run_becomes_a_page_that_can_be_checked() {
    let sandbox = Sandbox::new();
    let write = |file: &str, text: &str| {
        let path = sandbox.work().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("field.csv", &field());
    write("findings/invented/claims.toml", CLAIMS);
    write("findings/published/invented.csv", PUBLISHED);
    let run = |args: &[&str]| sandbox.run(args);
    run(&["import", "field.csv", "--out", "run", "--study", "field"]).exits_with(0);
    let extract = ["findings", "extract", "run", "--study", "invented"];
    run(&extract).exits_with(0);
    run(&["findings", "--check"])
        .exits_with(3)
        .stderr_contains("differs: findings/invented/README.md");
    run(&["findings"])
        .exits_with(0)
        .stderr_contains("written: findings/README.md");
    run(&["findings", "--check"]).exits_with(0);
    let page = fs::read_to_string(sandbox.work().join("findings/invented/README.md")).unwrap();
    assert!(page.contains("HTTP/3 is 1.3x as fast."), "{page}");
    assert!(page.contains("Ours: **same**. It is 1."), "{page}");
    // A run that the claims do not name, and an arm that the run lacks.
    for (from, to, error) in [
        (
            "runs = [\"field\"]",
            "runs = [\"other\"]",
            "`field` is not among the runs",
        ),
        (
            "arm = \"h3\"",
            "arm = \"h4\"",
            "claims.toml:19:7: unknown arm `h4`",
        ),
    ] {
        write("findings/invented/claims.toml", &CLAIMS.replace(from, to));
        run(&extract).exits_with(1).stderr_contains(error);
    }
}
