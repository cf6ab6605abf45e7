//! Docs of functions begin with a verb that says what the function does: `Returns`, `Reports whether`, `Waits until`.

use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ImplItemFn, ItemFn, ItemMod, Lit, Meta, TraitItemFn};

/// Nouns that end as verbs in the third person do.
const NOUNS: &[&str] = &[
    "Bytes",
    "Cells",
    "Connections",
    "Fields",
    "Files",
    "Headers",
    "Letters",
    "Lines",
    "Rows",
    "This",
    "Values",
    "Whereas",
    "Words",
];

/// Returns the functions below a folder whose docs begin otherwise: file, name and first line.
pub(crate) fn without_verb(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for file in sources(folder) {
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        let mut docs = Docs(Vec::new());
        docs.visit_file(&parsed);
        let lines = docs
            .0
            .into_iter()
            .filter(|(_, line)| !begins_with_verb(line));
        found.extend(lines.map(|(name, line)| format!("{}: {name}: {line}", file.display())));
    }
    found
}

/// Returns all source files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn begins_with_verb(line: &str) -> bool {
    let word: String = line.chars().take_while(|c| c.is_alphabetic()).collect();
    let is_capital = word.starts_with(|c: char| c.is_uppercase());
    is_capital && word.ends_with('s') && word.len() > 2 && !NOUNS.contains(&word.as_str())
}

/// The functions that have docs: each name, and the first line.
struct Docs(Vec<(String, String)>);

impl Docs {
    fn add(&mut self, name: &syn::Ident, attributes: &[Attribute]) {
        let is_test = |a: &Attribute| a.path().segments.last().is_some_and(|s| s.ident == "test");
        if attributes.iter().any(is_test) {
            return;
        }
        if let Some(line) = attributes.iter().find_map(doc) {
            self.0.push((name.to_string(), line));
        }
    }
}

fn doc(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) if pair.path.is_ident("doc") => Some(text.value().trim().to_owned()),
        _ => None,
    }
}

impl<'a> Visit<'a> for Docs {
    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.add(&item.sig.ident, &item.attrs);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.add(&item.sig.ident, &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        self.add(&item.sig.ident, &item.attrs);
        visit::visit_trait_item_fn(self, item);
    }

    /// Leaves out tests, whose names are sentences.
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }
}

#[test]
fn verbs_are_told_from_other_beginnings() {
    for line in ["Returns a word.", "Reports whether it is.", "Asks."] {
        assert!(begins_with_verb(line), "{line}");
    }
    for line in [
        "Return a word.",
        "Whether it is.",
        "Bytes of it.",
        "returns it.",
        "A word.",
        "`x` is.",
    ] {
        assert!(!begins_with_verb(line), "{line}");
    }
    let text = "/// The word.\nfn f() {}\n impl X {\n/// Returns it.\n/// And more.\nfn g() {} }\n#[test]\n/// A test.\nfn t() {}";
    let mut docs = Docs(Vec::new());
    docs.visit_file(&syn::parse_file(text).unwrap());
    let names: Vec<&str> = docs.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["f", "g"]);
}
