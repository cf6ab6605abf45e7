//! Which modules of a crate a module names, in `use` items and in paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Macro, UseTree};

use crate::graph::Imports;

/// The names on the way to a module; none for the crate's root.
type Module = Vec<String>;

/// Reads the imports of the crate whose source is in this folder. Modules within a file belong to it.
pub(crate) fn of_crate(src: &Path) -> Imports {
    let mut files = BTreeMap::new();
    add_files(src, &Vec::new(), &mut files);
    let mut imports = Imports::new();
    for (module, path) in &files {
        let text = fs::read_to_string(path).unwrap();
        let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let named = named(&file, module, &files.keys().cloned().collect());
        let others = named
            .into_iter()
            .filter(|other| !other.starts_with(module) && !module.starts_with(other));
        imports.insert(joined(module), others.map(|other| joined(&other)).collect());
    }
    imports
}

fn joined(module: &Module) -> String {
    module.join("::")
}

/// Adds the modules below a folder, and their files.
fn add_files(folder: &Path, parent: &Module, files: &mut BTreeMap<Module, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = match name.as_str() {
            // Programs of the crate use it as others do.
            "tests" | "bin" => continue,
            "mod" | "lib" | "main" => parent.clone(),
            _ => [&parent[..], &[name]].concat(),
        };
        if path.is_dir() {
            add_files(&path, &module, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(module, path);
        }
    }
}

/// Returns the modules that a file names, itself among them.
fn named(file: &File, module: &Module, all: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut paths = Paths {
        prefix: module.clone(),
        found: Vec::new(),
    };
    paths.visit_file(file);
    let resolved = paths.found.iter().filter_map(|path| resolve(path, all));
    resolved.collect()
}

/// Returns the longest beginning of a path from the root that is a module.
fn resolve(path: &Module, all: &BTreeSet<Module>) -> Option<Module> {
    let lengths = (0..=path.len()).rev();
    let mut beginnings = lengths.map(|length| path[..length].to_vec());
    beginnings.find(|beginning| all.contains(beginning))
}

/// Collects paths, each from the crate's root.
struct Paths {
    prefix: Module,
    found: Vec<Module>,
}

impl Paths {
    fn add(&mut self, names: &[String]) {
        let (first, rest) = names.split_first().unwrap();
        let mut path = match first.as_str() {
            "crate" => Vec::new(),
            "super" | "self" => self.prefix.clone(),
            // A module inside this one, or something of another crate, which resolves to this module itself.
            _ => [&self.prefix[..], std::slice::from_ref(first)].concat(),
        };
        if first == "super" {
            path.pop();
        }
        for name in rest {
            match name.as_str() {
                "super" => drop(path.pop()),
                _ => path.push(name.clone()),
            }
        }
        self.found.push(path);
    }

    fn add_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&path.tree, &with(&path.ident)),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(rename) => self.add(&with(&rename.ident)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, before);
                }
            }
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if item.content.is_some() {
            self.prefix.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.prefix.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.add_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if names.len() > 1 {
            self.add(&names);
        }
        visit::visit_path(self, path);
    }

    /// Finds paths from the crate's root: what a macro makes of others is its own.
    fn visit_macro(&mut self, call: &'a Macro) {
        let text = call.tokens.to_string().replace(' ', "");
        for path in text.split("crate::").skip(1) {
            let path = path.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let names = path.take(1).flat_map(|path| path.split("::"));
            let names: Vec<String> = ["crate"]
                .into_iter()
                .chain(names)
                .map(str::to_owned)
                .collect();
            self.add(&names);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_test = attribute.path().is_ident("test");
        let condition = attribute.path().is_ident("cfg").then_some(&attribute.meta);
        let tokens = condition.and_then(|meta| meta.require_list().ok());
        is_test || tokens.is_some_and(|list| list.tokens.to_string().starts_with("test"))
    })
}

#[test]
fn imports_are_found_in_every_form() {
    let file = syn::parse_file(
        "use crate::a::{self, b::Thing, c};
         use super::d;
         use other::crate_;
         mod inner { use super::super::e; fn f() { crate::f::g(); } }
         fn g() -> k::K { println!(\"{}\", crate::h::i::<u8>()) }
         #[cfg(test)]
         mod tests { use crate::not; }",
    );
    let module = |path: &str| -> Module { path.split("::").map(str::to_owned).collect() };
    let all = [
        "a", "a::b", "a::c", "m", "m::k", "d", "e", "f", "h", "h::i", "not",
    ];
    let all: BTreeSet<Module> = all
        .iter()
        .map(|path| module(path))
        .chain([Vec::new()])
        .collect();
    let named = named(&file.unwrap(), &module("m"), &all);
    let expected = ["a", "a::b", "a::c", "d", "e", "f", "h::i", "m", "m::k"];
    let expected: BTreeSet<Module> = expected.iter().map(|path| module(path)).collect();
    assert_eq!(named, expected);
}
