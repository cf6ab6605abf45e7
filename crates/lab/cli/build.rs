//! Packs what the command needs besides itself outside a checkout: studies, stacks, and the sources that
//! stacks are built from.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Links to what is carried, so that a package has it: cargo packs what is below its folder.
const CARRIED: &str = "carried";
/// Cargo leaves folders with a package of their own out, and with them these files: their links, and where they
/// belong.
const OF_RUST: [(&str, &str); 2] = [
    ("stacks-rust.toml", "stacks/rust/stack.toml"),
    ("stacks-rust-remedies.toml", "stacks/rust/remedies.toml"),
];
/// As in the repository, because scripts name each other by relative paths.
const FOLDERS: [&str; 5] = [
    "bindings/okhttp/library/src",
    "bindings/unity/Runtime",
    "crates/shared/messages/proto",
    "stacks",
    "studies",
];
/// Folders with what install scripts and runtimes have made, and an app that nothing starts.
const SKIPPED: [&str; 4] = ["__pycache__", "android-app", "build", "target"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join(CARRIED);
    let mut found = Vec::new();
    for folder in FOLDERS {
        find(&root.join(folder), &mut found)?;
    }
    let named = |file: PathBuf| Ok((file.strip_prefix(&root)?.to_owned(), file));
    let mut files = found
        .into_iter()
        .map(named)
        .collect::<Result<Vec<_>, Box<dyn Error>>>()?;
    files.extend(OF_RUST.map(|(link, name)| (PathBuf::from(name), root.join(link))));
    files.sort();
    let mut archive = tar::Builder::new(Vec::new());
    // The same files give the same archive, whoever built it and when.
    archive.mode(tar::HeaderMode::Deterministic);
    let mut folders = BTreeSet::new();
    for (name, file) in files {
        println!("cargo::rerun-if-changed={}", file.display());
        for folder in name.ancestors().skip(1) {
            if folder != Path::new("") && folders.insert(folder.to_owned()) {
                let mut header = tar::Header::new_gnu();
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(0o755);
                header.set_size(0);
                archive.append_data(&mut header, folder, std::io::empty())?;
            }
        }
        archive.append_path_with_name(&file, &name)?;
    }
    // For new files. Cargo would search stacks/ with all the folders that are skipped here.
    for folder in FOLDERS.iter().filter(|folder| **folder != "stacks") {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
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
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_dir = entry.path().is_dir();
        // The Rust drivers are part of the command.
        let is_package = is_dir && entry.path().join("Cargo.toml").is_file();
        if is_package || name.starts_with('.') || is_dir && SKIPPED.contains(&&*name) {
            continue;
        }
        match is_dir {
            true => find(&entry.path(), files)?,
            false => files.push(entry.path()),
        }
    }
    Ok(())
}
