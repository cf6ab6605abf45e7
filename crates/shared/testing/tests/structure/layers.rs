//! Which folders the crates of a folder depend on, with their tests and build scripts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the dependencies of crates below these folders on crates of the workspace elsewhere: the crate's folder, and
/// that of the other.
pub(crate) fn arrows_out(root: &Path, folders: &[&str]) -> Vec<(String, String)> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let ours = workspace_crates(&manifest);
    let is_inside = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    let mut found = Vec::new();
    for path in ours.values().filter(|path| is_inside(path)) {
        let manifest = fs::read_to_string(root.join(path).join("Cargo.toml")).unwrap();
        let others = dependencies(&manifest).filter_map(|name| ours.get(name));
        let outside = others.filter(|other| !is_inside(other));
        found.extend(outside.map(|other| (path.clone(), other.clone())));
    }
    found
}

/// Returns the path of each crate that `[workspace.dependencies]` names by a path.
fn workspace_crates(manifest: &str) -> BTreeMap<String, String> {
    let with_path = manifest.lines().filter_map(|line| {
        let (name, value) = line.split_once(" = {")?;
        let (_, path) = value.split_once("path = \"")?;
        Some((name.to_owned(), path.split_once('"')?.0.to_owned()))
    });
    with_path.collect()
}

/// Returns the names that the lines of a manifest's tables begin with.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines();
    lines.filter_map(|line| line.split(['.', ' ', '=']).next())
}

#[test]
fn a_dependency_on_another_folder_is_found() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace.dependencies]\na = { path = \"client/a\" }\nb = { path = \"lab/b\" }\nserde = \"1\"\n",
    );
    write("lab/b/Cargo.toml", "[dependencies]\na.workspace = true\n");
    for (manifest, count) in [
        ("[dependencies]\nserde.workspace = true\n", 0),
        ("[dev-dependencies]\nb.workspace = true\n", 1),
        ("[build-dependencies]\nb = { workspace = true }\n", 1),
    ] {
        write("client/a/Cargo.toml", manifest);
        let found = arrows_out(root.path(), &["client/"]);
        assert_eq!(found.len(), count, "{manifest}: {found:?}");
    }
}
