//! The versions of the libraries, from the lock file, and of the compiler.

use std::error::Error;
use std::path::Path;
use std::process::Command;

const LIBRARIES: [&str; 11] = [
    "flate2",
    "minicbor-serde",
    "planus",
    "prost",
    "rmp",
    "rmp-serde",
    "serde_json",
    "sonic-rs",
    "zerompk",
    "zlib-rs",
    "zstd",
];

pub(crate) fn emit() -> Result<(), Box<dyn Error>> {
    // That of the workspace, or the copy that every package has.
    let locks = ["../../../Cargo.lock", "Cargo.lock"].map(Path::new);
    let lock = locks.into_iter().find(|lock| lock.is_file());
    let lock = lock.ok_or("there is no lock file")?;
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(lock)?;
    for name in LIBRARIES {
        let variable = name.replace('-', "_").to_uppercase();
        let version = version(&text, name)?;
        println!("cargo::rustc-env={variable}_VERSION={version}");
    }
    let rustc = std::env::var_os("RUSTC").ok_or("RUSTC is not set")?;
    let output = Command::new(rustc).arg("--version").output()?.stdout;
    let version = String::from_utf8(output)?;
    println!("cargo::rustc-env=RUSTC_VERSION={}", version.trim());
    Ok(())
}

/// Returns a library's version in the lock file. Two versions are an error, since one could not
/// tell which is in use.
fn version<'t>(lock: &'t str, name: &str) -> Result<&'t str, String> {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let mut versions = lock.split(&entry).skip(1);
    let version = versions.next().and_then(|rest| rest.split('"').next());
    match (version, versions.next()) {
        (Some(version), None) => Ok(version),
        (None, _) => Err(format!("the lock file has no {name}")),
        (Some(_), Some(_)) => Err(format!("the lock file has {name} more than once")),
    }
}
