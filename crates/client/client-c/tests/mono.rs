//! The binding for Unity, on Mono: compiled by mcs, run against real servers.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

mod site;
mod unity;

#[path = "../../client/tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::start;
use server::Config;
use testing::{CodeBlock, Markdown};
use unity::{compiled, library, said};

/// Where an ELF file says which machine it is for, and what it says there for AArch64.
const E_MACHINE: usize = 18;
const AARCH64: u8 = 183;
/// What scripts of Unity begin with.
const USING: &str = "\
using System;
using System.Collections;
using System.Net.Http;
using System.Threading.Tasks;
using Commute.Client;
using UnityEngine;
";

#[tokio::test(flavor = "multi_thread")]
async fn http_client_on_mono_works_over_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tests) = compiled(folder.path()) else {
        return;
    };
    let server = start(Config {
        early_data: true,
        ..Config::default()
    });
    let (site, server) = (site::start().await, server.await);
    let roots = folder.path().join("site.pem");
    std::fs::write(&roots, &site.root_pem).unwrap();
    let arguments = [
        format!("https://localhost:{}/", site.address.port()),
        roots.display().to_string(),
        server.url("/"),
        server.folder.path().join("ca.pem").display().to_string(),
    ];
    // The test's runtime must go on serving.
    let ran = tokio::task::spawn_blocking(move || {
        let mut mono = Command::new("mono");
        mono.arg("--debug")
            .arg(tests)
            .args(arguments)
            .env("LD_LIBRARY_PATH", library());
        mono.output().unwrap()
    });
    let ran = ran.await.unwrap();
    assert!(ran.status.success(), "{}", said(&ran));
    // Each case prints a line.
    assert!(
        said(&ran)
            .lines()
            .filter(|line| line.starts_with("ok "))
            .count()
            > 40,
        "{}",
        said(&ran)
    );
}

#[test]
fn a_library_that_does_not_fit_is_named_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tests) = compiled(folder.path()) else {
        return;
    };
    let missing = "Missing, or built for another processor";
    let old = "Not commute's library, or an old one";
    let newer = "uint32_t cm_abi_version(void) { return 99; }";
    let version = format!(
        "Version 99 where {} is needed",
        commute_client::CM_ABI_VERSION
    );
    for (code, machine, said_first) in [
        (None, None, missing),
        (Some(newer), None, version.as_str()),
        (Some(newer), Some(AARCH64), missing),
        (Some("int other;"), None, old),
    ] {
        let library = tempfile::tempdir().unwrap();
        if let Some(code) = code {
            build_library(library.path(), code, machine);
        }
        let mut mono = Command::new("mono");
        let ran = mono
            .arg(&tests)
            .arg("wrong-library")
            .env("LD_LIBRARY_PATH", library.path())
            .output()
            .unwrap();
        let said = said(&ran);
        assert!(ran.status.success(), "{said}");
        assert!(said.starts_with(said_first), "{said}");
        for part in [
            "libcommute_client.so",
            "x86_64",
            "Plugins/x86_64",
            "LD_LIBRARY_PATH",
        ] {
            assert!(said.contains(part), "{part} is missing: {said}");
        }
    }
}

/// Builds something that is named as the library, for another machine if that is given.
fn build_library(folder: &Path, code: &str, machine: Option<u8>) {
    let (source, library) = (folder.join("other.c"), folder.join("libcommute_client.so"));
    std::fs::write(&source, format!("#include <stdint.h>\n{code}\n")).unwrap();
    let mut cc = Command::new("cc");
    let built = cc
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.unwrap().success());
    if let Some(machine) = machine {
        let mut elf = std::fs::read(&library).unwrap();
        elf[E_MACHINE] = machine;
        std::fs::write(&library, elf).unwrap();
    }
}

/// A thread in native code would keep Mono from exiting.
#[test]
fn a_program_that_leaves_its_engine_open_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(tests) = compiled(folder.path()) else {
        return;
    };
    let mut mono = Command::new("mono");
    let left = mono.arg(tests).arg("left-open");
    let mut left = left.env("LD_LIBRARY_PATH", library()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let ended = loop {
        match left.try_wait().unwrap() {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            ended => break ended,
        }
    };
    left.kill().ok();
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
}

/// What Unity's own classes would be is declared by a file of the tests; nothing is run.
#[test]
fn what_only_unity_runs_compiles() {
    let folder = tempfile::tempdir().unwrap();
    if !unity::mono_is_here() {
        return;
    }
    let sources = unity::sources(&[
        "Runtime",
        "Editor",
        "Samples~/Assets",
        "Samples~/Assets/Basic",
        "Tests~/Unity",
    ]);
    for defines in ["UNITY_EDITOR", "UNITY_ANDROID", "UNITY_IOS"] {
        let out = folder.path().join("unity.dll");
        let defines = format!("-define:UNITY_2019_4_OR_NEWER;{defines}");
        unity::mcs(&out, &["-target:library", &defines], &sources);
    }
}

/// The C# in the project's Markdown compiles as it stands, with the directives and classes of Unity that scripts have.
/// A block is the body of a method: a coroutine if it yields, asynchronous if it awaits.
#[test]
fn blocks_of_pages_compile() {
    let folder = tempfile::tempdir().unwrap();
    if !unity::mono_is_here() {
        return;
    }
    let mut classes = USING.to_owned();
    let mut count = 0;
    for page in testing::project_pages() {
        let text = std::fs::read_to_string(testing::project_root().join(&page)).unwrap();
        for block in Markdown::parse(&page, &text).blocks {
            if block.language == "csharp" && block.not_compiled.is_none() {
                count += 1;
                classes.push_str(&class(count, &page, &block));
            }
        }
    }
    assert!(count >= 4, "only {count} blocks found");
    let file = folder.path().join("Blocks.cs");
    std::fs::write(&file, classes).unwrap();
    let mut sources = unity::sources(&["Runtime", "Tests~/Unity"]);
    sources.push(file);
    let out = folder.path().join("blocks.dll");
    let defines = "-define:UNITY_2019_4_OR_NEWER;UNITY_ANDROID";
    unity::mcs(&out, &["-target:library", defines], &sources);
}

/// Returns a class around a block. Errors have the page's lines.
fn class(number: usize, page: &str, block: &CodeBlock<'_>) -> String {
    let code = block.lines.join("\n");
    let method = match (code.contains("yield return"), code.contains("await ")) {
        (true, _) => "IEnumerator",
        (false, true) => "async Task",
        (false, false) => "void",
    };
    let line = block.line + 1;
    format!("class Block{number} {{ {method} Run() {{\n#line {line} \"{page}\"\n{code}\n}}}}\n")
}
