//! Published studies beside runs of ours: pages that a command makes from what is kept in `findings/`.
//!
//! The life of a page:
//!
//! 1. The claims of a study are written by hand (`claims`): what it claims, which published figures
//!    that rests on (`published`), which comparison of ours answers it, and by which rule.
//! 2. Runs of the study are measured. [`Data::of`] takes from the records of each what the page needs: the
//!    values by block of every comparison (`blocks`) and a header (`run`). [`Data::write`] keeps both
//!    beside the claims, in two small files.
//! 3. [`build`] reads `findings/`, and decides the comparisons again by the report's own code
//!    (`decided`, and `sums` for requests that follow one another). A page and its run's report thus have the same verdicts and intervals.
//! 4. Each claim is judged by its rule (`outcome`). `page`, `chart`, `index` and `servers` only lay out;
//!    sentences get their numbers from the data (`fill`), and so do `tables` in a page that people write, and the
//!    `front` of the index.
//!
//! The same files give the same bytes. A missing name, a missing published figure and one that no
//! claim selects are errors with file and line.

#![forbid(unsafe_code)]

mod answer;
mod bench;
mod blocks;
mod chart;
mod claims;
mod codec_question;
mod codecs;
mod cost;
mod decided;
mod expect;
mod fill;
mod finding;
mod front;
mod index;
mod ours;
mod outcome;
mod page;
mod published;
mod relation;
mod run;
mod servers;
mod sums;
mod tables;
mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::{ConfigError, Source, did_you_mean};
use record::RunData;
use report::{ByBlock, Summary};
use toml::Spanned;

use claims::Claims;
use finding::{CLAIMS, Finding};

/// The name of pages.
const PAGE: &str = "README.md";

/// Why pages cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FindingsError {
    /// A file could not be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A mistake in `claims.toml`.
    #[error(transparent)]
    Claims(#[from] ConfigError),
    /// A mistake in a file that is not written by hand.
    #[error("{file}: {message}")]
    Data {
        /// The file and, where known, the line.
        file: String,
        /// What is wrong.
        message: String,
    },
}

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    run: run::Run,
    values: ByBlock,
}

impl Data {
    /// Takes from a run what the page of a study needs; `root` is the folder of all findings. Fails if
    /// the study's claims do not name the run, or name an arm that it lacks.
    pub fn of(
        data: &RunData,
        summary: &Summary,
        root: &Path,
        study: &str,
    ) -> Result<Data, FindingsError> {
        let file = format!("{study}/{CLAIMS}");
        let text = read(&root.join(&file))?;
        let source = Source::new(&file, &text);
        let claims = Claims::parse(&source)?;
        let run = run::Run::of(data, summary);
        if !claims.runs.contains(&run.study) {
            let message = format!(
                "`{}` is not among the runs that answer this study",
                run.study
            );
            return Err(source.error_at("runs", message).into());
        }
        let baseline = run.baseline.as_str();
        let mut pairs = Vec::new();
        for (arm, against) in claims.pairs(&run.study) {
            for arm in [arm, against] {
                known(
                    &source,
                    "arm",
                    arm,
                    run.arms.iter().map(|a| a.name.as_str()),
                )?;
            }
            let pair = (arm.as_ref().as_str(), against.as_ref().as_str());
            if pair.0 != baseline && pair.1 != baseline && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        Ok(Data {
            values: ByBlock::of(data, &pairs),
            run,
        })
    }

    /// Writes the two files of the run into the study's folder.
    pub fn write(&self, root: &Path, study: &str) -> Result<(), FindingsError> {
        let run =
            serde_json::to_string_pretty(&self.run).expect("strings, numbers and lists") + "\n";
        let dir = root.join(study);
        let (header, values) = ours::files(&self.run.study);
        write(&dir.join(header), &run)?;
        write(&dir.join(values), &blocks::write(&self.values))
    }
}

/// Returns every page and figure by its path in `root`, the folder of all findings, made from the
/// other files there. A study without a run has none.
pub fn build(root: &Path) -> Result<BTreeMap<PathBuf, String>, FindingsError> {
    let findings = studies(root)?
        .iter()
        .map(|name| Finding::read(root, name))
        .collect::<Result<Vec<Finding>, FindingsError>>()?;
    let front = front::front(root, &findings)?;
    // Names are made harmless where they are written, and once more here so that none is forgotten.
    let index = neutral::lines(&index::index(front.as_deref(), &findings)?);
    let mut files = BTreeMap::from([(PathBuf::from(PAGE), index)]);
    for finding in &findings {
        if !finding.ours.is_empty() {
            let dir = Path::new(&finding.name);
            files.insert(dir.join(PAGE), neutral::lines(&page::page(finding)?));
            if let Some(chart) = &finding.claims.figure {
                let svg = chart::svg(finding, chart)?;
                files.insert(dir.join(page::CHART), neutral::lines(&svg));
            }
            if let Some(page) = &finding.claims.page {
                let text = read(&root.join(page))?;
                files.insert(page.into(), tables::fill(finding, page, &text)?);
            }
        }
    }
    Ok(files)
}

/// Writes all pages and figures.
pub fn write_all(root: &Path, files: &BTreeMap<PathBuf, String>) -> Result<(), FindingsError> {
    files
        .iter()
        .try_for_each(|(path, text)| write(&root.join(path), text))
}

/// Returns the paths of the files that are missing or differ, byte for byte.
pub fn differing(root: &Path, files: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let differs = |(path, text): &(&PathBuf, &String)| {
        std::fs::read(root.join(path)).ok().as_deref() != Some(text.as_bytes())
    };
    files
        .iter()
        .filter(differs)
        .map(|(path, _)| path.clone())
        .collect()
}

/// Returns the names of the folders with claims, sorted.
fn studies(root: &Path) -> Result<Vec<String>, FindingsError> {
    let error = |source| FindingsError::File {
        file: root.to_owned(),
        source,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).map_err(error)? {
        let entry = entry.map_err(error)?;
        if entry.path().join(CLAIMS).is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn read(file: &Path) -> Result<String, FindingsError> {
    std::fs::read_to_string(file).map_err(|source| FindingsError::File {
        file: file.to_owned(),
        source,
    })
}

fn write(file: &Path, text: &str) -> Result<(), FindingsError> {
    std::fs::write(file, text).map_err(|source| FindingsError::File {
        file: file.to_owned(),
        source,
    })
}

/// Fails, at the name's line, if it is not among the known ones.
fn known<'a>(
    source: &Source<'_>,
    what: &str,
    wanted: &Spanned<String>,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), ConfigError> {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known.dedup();
    let name = wanted.as_ref().as_str();
    if known.contains(&name) {
        return Ok(());
    }
    let near = did_you_mean(name, known.iter().copied());
    let message = format!("unknown {what} `{name}`{near}; known: {}", known.join(", "));
    Err(source.error(&wanted.span(), message))
}
