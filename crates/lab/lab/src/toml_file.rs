//! Reads the study and network files that users name, and recognises other files given by mistake.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use serde::de::IgnoredAny;

use crate::error::LabError;

/// Far above any study, and above any network with its traces inlined.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// What a file is meant to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Study,
    Network,
}

/// What users give by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    Url,
    Folder,
    Nothing,
    Json,
    Csv,
}

/// Reads a file that the user names. Fails with what to do if it can be no TOML. Returns the file, too, which is open.
pub(crate) fn read(file: &Path, kind: Kind) -> Result<(String, File), LabError> {
    let name = file.display().to_string();
    if name.starts_with("https://") || name.starts_with("http://") {
        let reason = Instead::Url.answer(kind);
        return Err(LabError::NotToml { file: name, reason });
    }
    let opened = File::open(file).map_err(|source| failed(file, kind, source))?;
    let text = read_opened(file, &opened, kind)?;
    Ok((text, opened))
}

/// Reads an open file in the same way; `file` is its path for messages.
pub(crate) fn read_opened(file: &Path, opened: &File, kind: Kind) -> Result<String, LabError> {
    let mut text = String::new();
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    let bytes = read.map_err(|source| failed(file, kind, source))?;
    let not_toml = |reason| LabError::NotToml {
        file: file.display().to_string(),
        reason,
    };
    if bytes as u64 > MAX_BYTES {
        return Err(not_toml(format!("longer than {} MiB", MAX_BYTES >> 20)));
    }
    match instead_of_toml(&text) {
        Some(instead) => Err(not_toml(instead.answer(kind))),
        None => Ok(text),
    }
}

/// Describes a file that cannot be read.
pub(crate) fn failed(file: &Path, kind: Kind, source: io::Error) -> LabError {
    let instead = match source.kind() {
        ErrorKind::NotFound => Instead::Nothing,
        ErrorKind::IsADirectory => Instead::Folder,
        _ => {
            let path = file.to_owned();
            return LabError::Read { path, source };
        }
    };
    LabError::NotToml {
        file: file.display().to_string(),
        reason: instead.answer(kind),
    }
}

/// Recognises text that is something else for certain.
fn instead_of_toml(text: &str) -> Option<Instead> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_toml = || toml::de::DeTable::parse(text).is_ok();
    let first = text.lines().next()?;
    match first.chars().next()? {
        '{' => Some(Instead::Json),
        // `[1]` is both.
        '[' if is_json() && !is_toml() => Some(Instead::Json),
        '[' | '#' => None,
        _ if first.contains(',') && !first.contains('=') => Some(Instead::Csv),
        _ => None,
    }
}

impl Instead {
    fn answer(self, kind: Kind) -> String {
        let is = match self {
            Instead::Url => "a URL",
            Instead::Folder => "a folder",
            Instead::Nothing => "there is no such file",
            Instead::Json => "JSON",
            Instead::Csv => "CSV",
        };
        let instead = match (kind, self) {
            (Kind::Study, Instead::Url) => {
                "a study is a TOML file; `commute init --curl 'curl URL'` writes one for a request, and \
                 `commute run STUDY --server URL` runs one against your own server"
            }
            (Kind::Study, Instead::Json) => {
                "a study is a TOML file; `commute init --har FILE` writes one from a HAR, `request = \
                 \"FILE\"` in a step sends a payload, and `commute codec FILE` measures its encodings"
            }
            (Kind::Study, Instead::Csv) => {
                "a study is a TOML file; `commute import FILE` reports on requests measured elsewhere"
            }
            (Kind::Study, Instead::Folder | Instead::Nothing) => {
                "name a study's TOML file, e.g. studies/quickstart.toml; `commute init` writes one"
            }
            (Kind::Network, _) => {
                "name a network's TOML file (docs/reference/networks.md), or one that `commute networks` lists"
            }
        };
        format!("{is}; {instead}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_toml_is_recognised() {
        use Instead::{Csv, Json};
        for (text, instead) in [
            ("name = \"a\"", None),
            ("# a,b\nname = \"a\"", None),
            ("[sweep]\n", None),
            ("[1]", None),
            ("key = [1, 2]", None),
            ("", None),
            ("blocks = = 2", None),
            ("\u{feff} {\"log\": 1}", Some(Json)),
            ("{\"cut", Some(Json)),
            ("[1, 2]", Some(Json)),
            ("network,arm,protocol\n1,2,3", Some(Csv)),
        ] {
            assert_eq!(instead_of_toml(text), instead, "{text}");
        }
    }
}
