//! Strongly connected components of a graph of modules.

use std::collections::{BTreeMap, BTreeSet};

/// For each module, which it imports.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the groups of two and more modules of which each reaches each other.
pub(crate) fn circles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|from| (from, reachable(imports, from)))
        .collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (from, others) in &reached {
        let back = |other: &&String| reached[*other].contains(*from);
        let circle: BTreeSet<String> = others.iter().copied().filter(back).cloned().collect();
        if circle.len() > 1 && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

/// Returns the imports between outermost modules, each with all inside it. The root imports what it likes.
pub(crate) fn outermost(imports: &Imports) -> Imports {
    let first = |module: &String| module.split("::").next().unwrap_or_default().to_owned();
    let mut outer = Imports::new();
    for (from, to) in imports.iter().filter(|(from, _)| !from.is_empty()) {
        let others = to.iter().map(&first).filter(|to| *to != first(from));
        outer.entry(first(from)).or_default().extend(others);
    }
    outer
}

/// Returns the imports between modules of a circle, one line for each.
pub(crate) fn edges_within(imports: &Imports, circle: &BTreeSet<String>) -> Vec<String> {
    let from = imports.iter().filter(|(from, _)| circle.contains(*from));
    let edges = from.flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
    edges
        .filter(|(_, to)| circle.contains(*to))
        .map(|(from, to)| format!("  {from} -> {to}"))
        .collect()
}

/// Returns the modules that can be reached by one import or more.
fn reachable<'a>(imports: &'a Imports, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = imports[from].iter().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&imports[module]);
        }
    }
    reached
}

#[test]
fn only_modules_that_reach_each_other_are_in_a_circle() {
    let imports = |edges: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry((*to).to_owned()).or_default();
            let others = imports.entry((*from).to_owned()).or_default();
            others.insert((*to).to_owned());
        }
        imports
    };
    let circle = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let none: [BTreeSet<String>; 0] = [];
    assert_eq!(
        circles(&imports(&[("a", "b"), ("b", "c"), ("a", "c")])),
        none
    );
    assert_eq!(
        circles(&imports(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])),
        [circle(&["b", "c"])]
    );
    let two = [("a", "b"), ("b", "c"), ("c", "a"), ("x", "y"), ("y", "x")];
    let expected = [circle(&["a", "b", "c"]), circle(&["x", "y"])];
    assert_eq!(circles(&imports(&two)), expected);
    let nested = imports(&[("a::x", "b"), ("b", "a::y"), ("a::x", "a::y"), ("", "a")]);
    assert_eq!(circles(&nested), none);
    assert_eq!(circles(&outermost(&nested)), [circle(&["a", "b"])]);
}
