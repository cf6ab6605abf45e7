//! What holds for the source of every crate.
//!
//! Modules do not import each other in a circle: whoever wanted to understand one of them would have to understand all.
//! Crates cannot depend on each other in a circle, modules can. Imports are read from the source, without tests. Those
//! between a module and one inside it do not count: the outer one is made of the inner ones.
//!
//! The client and what it shares with the lab do not depend on the lab. Docs of functions begin with a verb. Crates
//! without unsafe code forbid it. What others publish is pinned.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod docs;
mod graph;
mod imports;
mod layers;
mod pins;
mod unsafe_code;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Circles that remain: the crate, the modules, and why they are not cut.
const KNOWN: &[(&str, &[&str], &str)] = &[(
    "crates/client/client",
    &[
        "body", "conn", "download", "mailbox", "message", "request", "response", "resume",
    ],
    "one type of message carries whatever the app, the engine and its connections tell each other",
)];

#[test]
fn crates_without_unsafe_code_forbid_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut crates = crates(&root);
    crates.retain(|folder| unsafe_code::could_forbid(&folder.join("src")));
    assert!(crates.is_empty(), "add #![forbid(unsafe_code)]: {crates:?}");
}

#[test]
fn the_client_depends_on_no_crate_of_the_lab() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let found = layers::arrows_out(&root, &["crates/client/", "crates/shared/"]);
    assert!(
        found.is_empty(),
        "move what both need to crates/shared: {found:?}"
    );
}

#[test]
fn images_actions_and_builds_are_pinned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let pins = pins::of_tree(&root);
    assert!(pins.found > 5, "found {} places only", pins.found);
    assert!(pins.missing.is_empty(), "{}", pins.missing.join("\n"));
}

/// Checks each crate as a whole, and its outermost modules alone: each with all inside it.
#[test]
fn modules_import_each_other_in_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut found = BTreeMap::new();
    for folder in crates(&root) {
        let imports = imports::of_crate(&folder.join("src"));
        assert!(!imports.is_empty(), "{} has no modules", folder.display());
        let name = folder.strip_prefix(&root).unwrap().display().to_string();
        for imports in [&imports, &graph::outermost(&imports)] {
            for circle in graph::circles(imports) {
                let edges = graph::edges_within(imports, &circle);
                found.insert((name.clone(), circle), edges);
            }
        }
    }
    let is_known = |name: &str, circle: &BTreeSet<String>| {
        KNOWN.iter().any(|(of, modules, _)| {
            *of == name
                && circle
                    .iter()
                    .map(String::as_str)
                    .eq(modules.iter().copied())
        })
    };
    let new: String = (found.iter())
        .filter(|((name, circle), _)| !is_known(name, circle))
        .map(|((name, circle), edges)| format!("{name}: {circle:?}\n{}\n", edges.join("\n")))
        .collect();
    assert!(
        new.is_empty(),
        "new circles; cut them, or list them in KNOWN with the reason:\n{new}"
    );
    assert_eq!(
        found.len(),
        KNOWN.len(),
        "KNOWN lists a circle that is gone"
    );
}

#[test]
fn docs_of_functions_begin_with_a_verb() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let sources = crates(&root).into_iter().map(|folder| folder.join("src"));
    let found: Vec<String> = sources.flat_map(|src| docs::without_verb(&src)).collect();
    assert!(
        found.is_empty(),
        "begin with what the function does, e.g. `Returns`, `Reports whether`:\n{}",
        found.join("\n")
    );
}

/// Returns the folders of all crates of the workspace.
fn crates(root: &Path) -> Vec<PathBuf> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let quoted = members.split('"').skip(1).step_by(2);
    quoted.map(|member| root.join(member)).collect()
}
