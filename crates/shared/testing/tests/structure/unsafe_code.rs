//! Crates without unsafe code forbid it, so that new unsafe code is a decision that a reviewer sees.

use std::fs;
use std::path::Path;

/// What a crate's root says.
const FORBIDS: &str = "#![forbid(unsafe_code)]";

/// Reports whether a crate has no unsafe code and does not forbid it.
pub(crate) fn could_forbid(src: &Path) -> bool {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
    let root = root.iter().find(|file| file.is_file());
    let root = fs::read_to_string(root.unwrap()).unwrap();
    !root.contains(FORBIDS) && !has_unsafe(src)
}

fn has_unsafe(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries.any(|path| match path.is_dir() {
        true => has_unsafe(&path),
        false => {
            path.extension().is_some_and(|extension| extension == "rs")
                && fs::read_to_string(&path).unwrap().contains("unsafe")
        }
    })
}
