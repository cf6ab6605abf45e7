//! The project's Markdown: links and anchors resolve, pages under `docs/` are short and in its summary, and commands
//! name verbs and options that exist. The pages and schemas that other files name are there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::{CodeBlock, Markdown, project_files, project_pages, project_root};

/// Longest page under `docs/`.
const MAX_WORDS: usize = 1_500;
/// Longer pages. Programs write them, or their long tables.
const LONG_PAGES: [&str; 8] = [
    "docs/reference/command-line.md",
    "docs/reference/record-keys.md",
    "docs/reference/network-keys.md",
    "docs/reference/network-list.md",
    "docs/reference/study-keys.md",
    "docs/interop.md",
    "docs/security.md",
    "docs/stacks-matrix/README.md",
];
/// Files that may name a page besides Markdown.
const TEXT_EXTENSIONS: [&str; 11] = [
    "cs", "go", "h", "java", "pl", "proto", "py", "rs", "toml", "txt", "yml",
];

/// The languages of blocks, and what checks them. Documentation tests of the crate client compile Rust.
const CHECKED: [(&str, &str); 8] = [
    ("", "commands_name_verbs_and_options_that_exist"),
    ("sh", "likewise, and docs/style/check-blocks"),
    ("toml", "toml_in_pages_is_toml"),
    ("text", "nothing: output and drawings"),
    ("json", "docs/style/check-blocks"),
    (
        "python",
        "likewise; a test of the crate sign runs the driver",
    ),
    ("java", "DocsTest of bindings/okhttp"),
    ("csharp", "the test `mono` of the crate client-c"),
];

#[test]
fn links_and_anchors_resolve() {
    let mut problems = Vec::new();
    let mut seen = 0;
    for page in project_pages() {
        let text = read(&page);
        for link in links(&Markdown::parse(&page, &text).prose) {
            if link.starts_with("https://") || link.starts_with("http://") {
                continue;
            }
            seen += 1;
            if let Some(problem) = broken(&page, &link) {
                problems.push(format!("{page}: {link}: {problem}"));
            }
        }
    }
    assert!(seen > 100, "only {seen} links found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// `make site` takes its contents from the summary, so every page must be in it.
#[test]
fn pages_are_short_and_in_the_summary() {
    let summary = read("docs/SUMMARY.md");
    let listed: Vec<String> = links(&Markdown::parse("docs/SUMMARY.md", &summary).prose).collect();
    let mut problems = Vec::new();
    for page in project_pages() {
        let Some(name) = page.strip_prefix("docs/") else {
            continue;
        };
        let words = read(&page).split_whitespace().count();
        let may_be_long = LONG_PAGES.contains(&page.as_str());
        if words > MAX_WORDS && !may_be_long {
            problems.push(format!("{page} has {words} words, more than {MAX_WORDS}"));
        }
        if words <= MAX_WORDS && may_be_long {
            problems.push(format!("{page} is short now: take it off the list"));
        }
        let times = listed.iter().filter(|listed| *listed == name).count();
        if times != usize::from(name != "SUMMARY.md") {
            problems.push(format!("docs/SUMMARY.md has {page} {times} times"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Reads fenced blocks without a language or with `sh`. A line that begins with `commute` or `$ commute` is a command,
/// up to two spaces or a comment. Output that looks like a command goes into a block of `text`.
#[test]
fn commands_name_verbs_and_options_that_exist() {
    let mut help = Help::default();
    let mut problems = Vec::new();
    let mut seen = 0;
    for page in project_pages() {
        let text = read(&page);
        for block in &Markdown::parse(&page, &text).blocks {
            for line in commands(block) {
                let words = shlex::split(&line).unwrap_or_else(|| panic!("{page}: quotes: {line}"));
                let simple = words.split(|word| ["&&", "&", "|", ";"].contains(&word.as_str()));
                for command in simple {
                    let Some(("commute", words)) = command.split_first().map(|(a, b)| (&**a, b))
                    else {
                        continue;
                    };
                    seen += 1;
                    if let Some(problem) = help.unknown(words) {
                        problems.push(format!("{page}: {line}: {problem}"));
                    }
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} commands found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Code in another language needs a check of its own, or each block a reason.
#[test]
fn code_in_pages_is_checked_or_has_a_reason() {
    let client = read("crates/client/client/src/lib.rs");
    let mut problems = Vec::new();
    let mut seen = 0;
    for page in project_pages() {
        let text = read(&page);
        for block in Markdown::parse(&page, &text).blocks {
            seen += 1;
            let is_checked = match block.language {
                "rust,no_run" => client.contains(&format!("/{page}\")]")),
                language => CHECKED.iter().any(|(checked, _)| *checked == language),
            };
            if !is_checked && block.not_compiled.is_none() {
                problems.push(format!(
                    "{page}:{}: nothing checks this `{}`; add a check, or `<!-- not compiled: REASON -->` above it",
                    block.line, block.language
                ));
            }
        }
    }
    assert!(seen > 50, "only {seen} blocks found");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The one that is a whole study is also parsed by a test of the crate `study`.
#[test]
fn toml_in_pages_is_toml() {
    let mut seen = 0;
    for page in project_pages() {
        let text = read(&page);
        for block in &Markdown::parse(&page, &text).blocks {
            if block.language == "toml" {
                seen += 1;
                let table = block.lines.join("\n").parse::<toml::Table>();
                assert!(table.is_ok(), "{page}: {}", table.unwrap_err());
            }
        }
    }
    assert!(seen > 5, "only {seen} blocks found");
}

#[test]
fn pages_that_other_files_name_are_there() {
    let mut problems = Vec::new();
    for file in project_files() {
        let path = Path::new(&file);
        let is_text = match path.extension() {
            Some(extension) => {
                extension == "md" || TEXT_EXTENSIONS.iter().any(|text| extension == *text)
            }
            // Makefile, and scripts.
            None => true,
        };
        let text = fs::read_to_string(project_root().join(path));
        // Programs have no extension either.
        let Some(text) = text.ok().filter(|_| is_text) else {
            continue;
        };
        for name in named_pages(&text) {
            if !project_root().join(&name).exists() {
                problems.push(format!("{file} names {name}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn markdown_is_read_as_it_is_shown() {
    let text = "# A `b`: c\n[x](y.md#z) `[no](no.md)` ![i\nj](k.png)\n```sh\n[no](no.md)\n\
                $ commute run a \\\n    --quick   # fast\n```\n# A `b`: c\n";
    let parts = Markdown::parse("test", text);
    let found: Vec<String> = links(&parts.prose).collect();
    assert_eq!(found, ["y.md#z", "k.png"]);
    let expected = ["a-b-c", "a-b-c-1"].map(str::to_owned);
    assert_eq!(anchors(&parts.prose), BTreeSet::from(expected));
    assert_eq!(commands(&parts.blocks[0]), ["commute run a --quick"]);
    // This file must not name pages that are not there.
    let names = "see D/a.md, (../../D/b/c.json) and quic-go/D/d.md; D/e.rs".replace('D', "docs");
    let expected = ["D/a.md", "D/b/c.json"].map(|name| name.replace('D', "docs"));
    assert_eq!(named_pages(&names), expected);
    let mut help = Help::default();
    for (words, problem) in [
        ("run STUDY --quick -v", None),
        ("stacks check --out=DIR", None),
        ("link true-metro --loss 2% -- curl -k", None),
        ("walk", Some("there is no verb `walk`")),
        ("run --quik", Some("there is no option `--quik`")),
    ] {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(help.unknown(&words).as_deref(), problem, "{words:?}");
    }
}

/// Returns the commands of a block, without comments and with continued lines joined.
fn commands(block: &CodeBlock<'_>) -> Vec<String> {
    if !["", "sh"].contains(&block.language) {
        return Vec::new();
    }
    let mut joined: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in &block.lines {
        let text = line.strip_suffix('\\').unwrap_or(line);
        match joined.last_mut() {
            Some(last) if goes_on => last.push_str(text.trim_start()),
            _ => joined.push(text.to_owned()),
        }
        goes_on = text.len() < line.len();
    }
    let commands = joined.iter().filter_map(|line| {
        let command = line.strip_prefix("$ ").unwrap_or(line);
        let end = command.find("  ").or_else(|| command.find(" #"));
        let command = &command[..end.unwrap_or(command.len())];
        command.starts_with("commute ").then(|| command.to_owned())
    });
    commands.collect()
}

/// What `--help` prints, by verb and subcommand; nothing for an unknown verb.
#[derive(Default)]
struct Help(BTreeMap<Vec<String>, Option<String>>);

impl Help {
    /// Returns the help of a verb, or nothing if there is no such verb.
    fn of(&mut self, verb: &[String]) -> Option<&str> {
        let help = self.0.entry(verb.to_vec()).or_insert_with(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_commute"));
            let output = command.args(verb).arg("--help").output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            output.status.success().then_some(text)
        });
        help.as_deref()
    }

    /// Returns what is wrong with the arguments of a command, up to `--`.
    fn unknown(&mut self, words: &[String]) -> Option<String> {
        let end = words.iter().position(|word| word == "--");
        let words = &words[..end.unwrap_or(words.len())];
        let is_option = |word: &&String| word.len() > 1 && word.starts_with('-');
        let verb = words.first().filter(|word| !is_option(word))?;
        let Some(help) = self.of(std::slice::from_ref(verb)) else {
            return Some(format!("there is no verb `{verb}`"));
        };
        let has_subcommand = words.get(1).is_some_and(|word| {
            let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
            let mut listed = listed.take_while(|line| !line.is_empty());
            listed.any(|line| line.split_whitespace().next() == Some(word.as_str()))
        });
        let help = self.of(&words[..1 + usize::from(has_subcommand)])?;
        let options = words.iter().filter(is_option);
        let mut names = options.map(|word| word.split('=').next().unwrap_or(word));
        names
            .find(|name| !has_option(help, name))
            .map(|name| format!("there is no option `{name}`"))
    }
}

fn has_option(help: &str, name: &str) -> bool {
    let mut lines = help.lines().map(str::trim_start);
    lines.any(|line| line.starts_with('-') && line.split([',', ' ', '=']).any(|word| word == name))
}

/// The targets of the links and images in these lines, without those in code.
fn links(prose: &[&str]) -> impl Iterator<Item = String> {
    let text = prose.join("\n");
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let outside: Vec<&str> = paragraph.split('`').step_by(2).collect();
        outside.concat()
    });
    let paragraphs: Vec<String> = paragraphs.collect();
    paragraphs.into_iter().flat_map(|paragraph| {
        let targets = paragraph.split("](").skip(1);
        let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
        targets.collect::<Vec<_>>()
    })
}

/// The anchors of the headings in these lines, as GitHub and the site make them.
fn anchors(prose: &[&str]) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose.iter().filter(|line| line.starts_with('#'));
    let headings = headings.filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    headings
        .map(|heading| {
            let lower = heading.trim().to_lowercase().replace(' ', "-");
            let is_kept = |char: &char| char.is_alphanumeric() || ['-', '_'].contains(char);
            let anchor: String = lower.chars().filter(is_kept).collect();
            let count = counts.entry(anchor.clone()).or_default();
            *count += 1;
            match *count {
                1 => anchor,
                count => format!("{anchor}-{}", count - 1),
            }
        })
        .collect()
}

/// Returns why a link from a page does not resolve.
fn broken(page: &str, link: &str) -> Option<&'static str> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => PathBuf::from(page),
        path => Path::new(page).with_file_name(path),
    };
    if !project_root().join(&target).exists() {
        return Some("there is no such file");
    }
    let is_page = target
        .extension()
        .is_some_and(|extension| extension == "md");
    if anchor.is_empty() || !is_page {
        return None;
    }
    let text = read(&target);
    let found = anchors(&Markdown::parse(page, &text).prose).contains(anchor);
    (!found).then_some("there is no such heading")
}

/// The pages and schemas of `docs/` that a text names, from the project's root.
fn named_pages(text: &str) -> Vec<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "_-./".contains(char);
    let found = text.match_indices("docs/").filter_map(|(at, _)| {
        let before = text[..at].trim_end_matches("../");
        let is_whole = !before.ends_with(|char: char| is_part(char) && char != '.');
        let name = text[at..].split(|char| !is_part(char)).next()?;
        let name = name.trim_end_matches('.');
        let is_page = name.ends_with(".md") || name.ends_with(".json");
        (is_whole && is_page).then(|| name.to_owned())
    });
    found.collect()
}

fn read(file: impl AsRef<Path>) -> String {
    let file = project_root().join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
