//! The project's Markdown, for tests of its prose and of its code.

use std::path::{Path, PathBuf};

/// Begins the line above a block that does not compile. The reason and `-->` follow.
const NOT_COMPILED: &str = "<!-- not compiled: ";
/// Folders whose files are inputs of tests.
const SKIPPED_FOLDERS: [&str; 2] = ["crates/lab/findings/tests", "fuzz/corpus"];
/// Names of folders that builds and runs make.
const MADE_FOLDERS: [&str; 4] = ["build", "node_modules", "runs", "target"];
/// Hidden folders that belong to the project.
const HIDDEN_FOLDERS: [&str; 2] = [".ci", ".github"];

/// A page without its code, and its fenced blocks of code.
#[derive(Debug)]
pub struct Markdown<'a> {
    /// The lines outside of blocks.
    pub prose: Vec<&'a str>,
    /// The blocks in the page's order.
    pub blocks: Vec<CodeBlock<'a>>,
}

/// A fenced block of code.
#[derive(Debug)]
pub struct CodeBlock<'a> {
    /// What follows the fence, e.g. `sh`, or nothing.
    pub language: &'a str,
    /// The lines between the fences.
    pub lines: Vec<&'a str>,
    /// Number of the first fence's line, from 1.
    pub line: usize,
    /// The reason why the block does not compile, if the page has one.
    pub not_compiled: Option<&'a str>,
}

impl<'a> Markdown<'a> {
    /// Splits a page.
    ///
    /// # Panics
    ///
    /// If a block has no end. The message has the page's `name`.
    #[track_caller]
    pub fn parse(name: &str, text: &'a str) -> Self {
        let (mut prose, mut blocks) = (Vec::new(), Vec::new());
        let mut open: Option<CodeBlock<'a>> = None;
        for (index, line) in text.lines().enumerate() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(language), None) => {
                    open = Some(CodeBlock {
                        language: language.trim(),
                        lines: Vec::new(),
                        line: index + 1,
                        not_compiled: prose.last().copied().and_then(reason),
                    });
                }
                (None, Some(block)) => block.lines.push(line),
                (None, None) => prose.push(line),
            }
        }
        assert!(open.is_none(), "{name}: a block of code has no end");
        Self { prose, blocks }
    }
}

fn reason(line: &str) -> Option<&str> {
    let reason = line.trim().strip_prefix(NOT_COMPILED)?;
    reason
        .strip_suffix(" -->")
        .filter(|reason| !reason.is_empty())
}

/// Returns the project's root.
pub fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Returns the Markdown files of the project, from its root.
pub fn project_pages() -> impl Iterator<Item = String> {
    let files = project_files().into_iter();
    files.filter(|file| file.ends_with(".md"))
}

/// Returns the files of the project, from its root: neither links nor what builds make.
///
/// # Panics
///
/// If a folder cannot be read.
pub fn project_files() -> Vec<String> {
    let root = project_root();
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root.join(&folder)).expect("the project can be read");
        for entry in entries {
            let entry = entry.expect("the project can be read");
            let name = entry.file_name();
            let (path, name) = (folder.join(&name), name.to_string_lossy().into_owned());
            let kind = entry.file_type().expect("the project can be read");
            let is_own = !MADE_FOLDERS.contains(&&*name)
                && (!name.starts_with('.') || HIDDEN_FOLDERS.contains(&&*name))
                && !SKIPPED_FOLDERS
                    .iter()
                    .any(|skipped| path == Path::new(skipped));
            if kind.is_dir() && is_own {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_line_and_the_reason_above_them() {
        let text = "a\n```sh\nb\n```\n<!-- not compiled: c -->\n  ```java\n  d\n  ```\n\
                    <!-- not compiled:  -->\n```\n```\n";
        let page = Markdown::parse("test", text);
        assert_eq!(page.prose.len(), 3);
        let found = page
            .blocks
            .iter()
            .map(|block| (block.line, block.language, block.not_compiled));
        let expected = [(2, "sh", None), (6, "java", Some("c")), (10, "", None)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(page.blocks[1].lines, ["  d"]);
    }
}
