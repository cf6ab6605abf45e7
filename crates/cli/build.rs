//! Packs what the command needs besides itself outside a checkout: studies, stacks, and the sources that
//! stacks are built from.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// As in the repository, because scripts name each other by relative paths.
const FOLDERS: [&str; 5] = [
    "bindings/okhttp/library/src",
    "bindings/unity/Runtime",
    "crates/wire/proto",
    "stacks",
    "studies",
];
/// Folders with what install scripts and runtimes have made, and an app that nothing starts.
const SKIPPED: [&str; 4] = ["__pycache__", "android-app", "build", "target"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        find(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut archive = tar::Builder::new(Vec::new());
    // The same files give the same archive, whoever built it and when.
    archive.mode(tar::HeaderMode::Deterministic);
    let mut folders = BTreeSet::new();
    for file in files {
        // Not the folders: they would be searched again with all that is skipped.
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root)?;
        for folder in name.ancestors().skip(1) {
            if folder != Path::new("") && folders.insert(folder.to_owned()) {
                archive.append_dir(folder, root.join(folder))?;
            }
        }
        archive.append_path_with_name(&file, name)?;
    }
    let bytes = archive.into_inner()?;
    println!(
        "cargo::rustc-env=BUNDLE_CRC32={:08x}",
        crc32fast::hash(&bytes)
    );
    fs::write(Path::new(&env::var("OUT_DIR")?).join("bundle.tar"), bytes)?;
    Ok(())
}

/// Adds the source files in a folder and below.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let is_rust = folder.join("Cargo.toml").is_file();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_dir = entry.file_type()?.is_dir();
        // The Rust drivers are part of the command.
        let left_out = is_rust && name != "stack.toml";
        if left_out || name.starts_with('.') || is_dir && SKIPPED.contains(&&*name) {
            continue;
        }
        match is_dir {
            true => find(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}
