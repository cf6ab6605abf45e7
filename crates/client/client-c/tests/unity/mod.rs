//! The Unity package and its tests, compiled by mcs for Mono.
#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const UNITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bindings/unity");
/// What Unity 2019.4 understands.
const LANGUAGE: &str = "-langversion:7.2";

/// Compiles the package and its tests into a program in this folder. `None` without Mono, after a skip.
pub(crate) fn compiled(folder: &Path) -> Option<PathBuf> {
    if !mono_is_here() {
        return None;
    }
    let out = folder.join("tests.exe");
    mcs(&out, &[], &sources(&["Runtime", "Tests~"]));
    Some(out)
}

/// Reports whether Mono is installed; skips the test if not.
pub(crate) fn mono_is_here() -> bool {
    let runs = |program| Command::new(program).arg("--version").output().is_ok();
    let http = Path::new("/usr/lib/mono/4.5/System.Net.Http.dll").exists();
    let here = runs("mcs") && runs("mono") && http;
    if !here {
        testing::skip(
            "Mono is missing: apt-get install mono-mcs mono-runtime libmono-system-net-http4.0-cil",
        );
    }
    here
}

/// Returns the sources in these folders of the package.
pub(crate) fn sources(folders: &[&str]) -> Vec<PathBuf> {
    let folders = folders.iter().map(|folder| Path::new(UNITY).join(folder));
    let entries = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "cs"))
        .collect()
}

/// Compiles sources into a file.
pub(crate) fn mcs(out: &Path, options: &[&str], sources: &[PathBuf]) {
    let mut mcs = Command::new("mcs");
    mcs.args([LANGUAGE, "-warnaserror+", "-r:System.Net.Http.dll"])
        .args(options);
    let built = mcs
        .arg(format!("-out:{}", out.display()))
        .args(sources)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", said(&built));
}

/// Returns the folder of the library, which lies beside the tests.
pub(crate) fn library() -> PathBuf {
    std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .to_owned()
}

/// Returns what a program printed.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
