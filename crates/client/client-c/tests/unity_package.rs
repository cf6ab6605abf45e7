//! The layout of the package for Unity, which no Unity here reads.
#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

const UNITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bindings/unity");

/// Unity ignores files of a package that have no `.meta`, and two that share an id.
#[test]
fn every_file_of_the_package_has_an_id_of_its_own() {
    let mut ids = HashMap::new();
    let mut folders = vec![PathBuf::from(UNITY)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with('~') || name.ends_with(".meta") {
                continue;
            }
            let meta = PathBuf::from(format!("{}.meta", path.display()));
            let meta =
                std::fs::read_to_string(&meta).unwrap_or_else(|_| panic!("{meta:?} is missing"));
            let id = meta
                .lines()
                .find_map(|line| line.strip_prefix("guid: "))
                .unwrap()
                .to_owned();
            assert_eq!(id.len(), 32, "{path:?}");
            if let Some(other) = ids.insert(id, path.clone()) {
                panic!("{path:?} and {other:?} have the same id");
            }
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(ids.len() > 20);
}

#[test]
fn the_manifest_has_this_version_and_samples_that_are_there() {
    let manifest = json(&Path::new(UNITY).join("package.json"));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    for sample in manifest["samples"].as_array().unwrap() {
        let folder = Path::new(UNITY).join(sample["path"].as_str().unwrap());
        assert!(folder.is_dir(), "{folder:?} is missing");
    }
}

/// Who installs the package gets nothing else of the repository.
#[test]
fn the_package_has_the_licence() {
    let package = std::fs::read_to_string(Path::new(UNITY).join("LICENSE.md")).unwrap();
    let repository = std::fs::read_to_string(Path::new(UNITY).join("../../LICENSE-MIT")).unwrap();
    assert!(package.contains(repository.trim()));
}

#[test]
fn the_sample_project_has_the_package_and_a_version_of_unity_that_can_open_it() {
    let project = Path::new(UNITY).join("Samples~");
    let package = json(&Path::new(UNITY).join("package.json"));
    let name = package["name"].as_str().unwrap();
    let at = json(&project.join("Packages/manifest.json"))["dependencies"][name].clone();
    let at = at
        .as_str()
        .unwrap()
        .strip_prefix("file:")
        .unwrap()
        .to_owned();
    let found = json(&project.join("Packages").join(at).join("package.json"));
    assert_eq!(found["name"], name);
    let version = std::fs::read_to_string(project.join("ProjectSettings/ProjectVersion.txt"));
    let version = version.unwrap();
    let version = version.trim().strip_prefix("m_EditorVersion: ").unwrap();
    assert!(version >= package["unity"].as_str().unwrap(), "{version}");
}

/// Unity compiles an assembly only if all that it names are there.
#[test]
fn every_assembly_that_is_named_is_there() {
    let files = [
        "Runtime/Commute.Client.asmdef",
        "Editor/Commute.Client.Editor.asmdef",
        "Samples~/Assets/Basic/Basic.asmdef",
    ];
    let assemblies = files.map(|file| json(&Path::new(UNITY).join(file)));
    let names = assemblies.each_ref().map(|assembly| &assembly["name"]);
    for assembly in &assemblies {
        for reference in assembly["references"].as_array().unwrap() {
            assert!(names.contains(&reference), "{reference} is missing");
        }
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}
