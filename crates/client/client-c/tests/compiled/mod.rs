//! Programs in C, compiled against the checked-in header and this crate's library.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a C file, whose path is relative to the crate, into a folder. `None` without a C compiler, after a skip.
pub(crate) fn compiled(source: &str, folder: &Path) -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        testing::skip("cc, a C compiler, is missing");
        return None;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("program");
    // The library lies beside the tests.
    let tests = std::env::current_exe().unwrap();
    let library = tests.parent().unwrap();
    // Cargo's LD_LIBRARY_PATH would otherwise win, with a library of an earlier build in it.
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", library.display());
    let built = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(package.join("../../../bindings/c"))
        .arg(package.join(source))
        .arg("-L")
        .arg(library)
        .args(["-lcommute_client", "-pthread", &rpath, "-o"])
        .arg(&program)
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&built.stderr);
    assert!(
        built.status.success() && complaints.is_empty(),
        "{complaints}"
    );
    Some(program)
}
