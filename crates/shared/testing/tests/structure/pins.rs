//! Images have a digest, actions of others a commit and Gradle a hash; Maven runs through `stacks/maven/verified`. A tag
//! could become something else.

use std::fs;
use std::path::Path;

/// The folders that are searched.
const FOLDERS: [&str; 8] = [
    ".ci", ".github", "bindings", "deploy", "docs", "fuzz", "release", "stacks",
];
/// What builds make.
const MADE: [&str; 4] = ["build", "node_modules", "target", ".venv"];
/// Where Maven may be called.
const MAVEN: &str = "stacks/maven";

/// Places that name what others publish.
#[derive(Default)]
pub(crate) struct Pins {
    /// How many.
    pub found: usize,
    /// Those that pin nothing, and what to do.
    pub missing: Vec<String>,
}

pub(crate) fn of_tree(root: &Path) -> Pins {
    let mut pins = Pins::default();
    search(root, &root.join("Makefile"), &mut pins);
    for folder in FOLDERS {
        search(root, &root.join(folder), &mut pins);
    }
    pins
}

fn search(root: &Path, path: &Path, pins: &mut Pins) {
    let name = path.file_name().unwrap().to_str().unwrap();
    if path.is_dir() {
        let mut entries = fs::read_dir(path).unwrap();
        while let (false, Some(entry)) = (MADE.contains(&name), entries.next()) {
            search(root, &entry.unwrap().path(), pins);
        }
    } else if let Ok(text) = fs::read_to_string(path) {
        let path = path.strip_prefix(root).unwrap().to_str().unwrap();
        for missing in of_file(path, &text, &mut pins.found) {
            pins.missing.push(format!("{path}: {missing}"));
        }
    }
}

fn of_file(path: &str, text: &str, found: &mut usize) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap();
    let mut missing = Vec::new();
    let mut check = |pinned: bool, what: &str, line: &str| {
        *found += 1;
        if !pinned {
            missing.push(format!("{what}: {}", line.trim()));
        }
    };
    let mut stages = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if name.ends_with("Containerfile") || name.ends_with("Dockerfile") {
            if words.first() == Some(&"FROM") {
                let image = words[1..].iter().find(|word| !word.starts_with("--"));
                let pinned = image.is_some_and(|image| {
                    stages.contains(image) || ends_with_hash(image, "@sha256:", 64)
                });
                check(pinned, "add the image's digest", line);
                stages.extend(words.last());
            }
            if let Some(stage) = words.iter().find_map(|word| word.strip_prefix("--from=")) {
                check(stages.contains(&stage), "name a stage", line);
            }
        }
        if name == "kustomization.yaml" && matches!(words[..], ["digest:" | "newTag:", _]) {
            let pinned = ends_with_hash(line, "digest: sha256:", 64);
            check(pinned, "replace the image's tag by its digest", line);
        }
        if let Some(uses) = words.iter().position(|word| *word == "uses:")
            && let Some(action) = words.get(uses + 1)
            && (name.ends_with(".yml") || name.ends_with(".md"))
            && !["./", "OWNER/"].iter().any(|own| action.starts_with(own))
        {
            let pinned = ends_with_hash(action, "@", 40);
            check(pinned, "name the action's commit", line);
        }
        let comment = line.trim_start().starts_with('#');
        if !name.ends_with(".md") && !comment && line.contains("mvn -") {
            let pinned = path.starts_with(MAVEN);
            check(pinned, "call stacks/maven/verified", line);
        }
    }
    if name == "gradle-wrapper.properties" {
        let pinned = text
            .lines()
            .any(|line| ends_with_hash(line, "distributionSha256Sum=", 64));
        check(pinned, "add distributionSha256Sum", name);
    }
    missing
}

/// Reports whether a text ends with a mark and as many hexadecimal digits.
fn ends_with_hash(text: &str, mark: &str, digits: usize) -> bool {
    text.rsplit_once(mark).is_some_and(|(_, hash)| {
        hash.len() == digits && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[test]
fn a_tag_is_no_pin() {
    let missing = |path: &str, text: &str| of_file(path, text, &mut 0).len();
    let digest = "0123456789abcdef".repeat(4);
    let image = format!("FROM docker.io/library/debian:12@sha256:{digest}");
    let stages = format!("{image} AS build\nFROM build\nCOPY --from=build /a /b\n");
    assert_eq!(missing("release/Containerfile", &stages), 0);
    assert_eq!(missing("Containerfile", "FROM debian:12 AS build"), 1);
    let elsewhere = format!("{image}\nCOPY --from=debian:12 /a /b");
    assert_eq!(missing("Dockerfile", &elsewhere), 1);

    let commit = &digest[..40];
    let action = format!("  - uses: actions/checkout@{commit} # v4");
    assert_eq!(missing(".github/workflows/a.yml", &action), 0);
    assert_eq!(missing("a.yml", "- uses: actions/checkout@v4"), 1);
    assert_eq!(missing("a.yml", "#   - uses: actions/checkout@v4"), 1);
    assert_eq!(missing("a.yml", "uses: OWNER/commute/.github/x@v1"), 0);

    let overlay = "deploy/a/kustomization.yaml";
    let pinned = format!("    newName: a/b\n    digest: sha256:{digest}\n");
    assert_eq!(missing(overlay, &pinned), 0);
    assert_eq!(missing(overlay, "    newTag: 0.1.0\n"), 1);

    assert_eq!(missing("bindings/x/test", "mvn --quiet test"), 1);
    assert_eq!(missing("stacks/maven/verified", "mvn --quiet"), 0);
    assert_eq!(missing("x/gradle-wrapper.properties", "a=b"), 1);
}
