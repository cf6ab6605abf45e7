//! A file of an import: its arm and protocol, and its text.

use std::ffi::OsStr;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use import::PROTOCOLS;

use crate::exit;

/// Enough for some millions of requests.
const MAX_BYTES: u64 = 1 << 30;
const GZIP: &[u8] = &[0x1f, 0x8b];
/// How vegeta's own results begin, after a length: with the name of their type.
const GOB: &[u8] = b"\x06Result\x01";
const GOB_HEAD_BYTES: usize = 32;

/// `[ARM[:PROTOCOL]=]FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// As it was written.
    label: Option<(String, Option<String>)>,
    pub(super) path: PathBuf,
}

/// Where a row is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a Path,
    pub(super) line: usize,
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        let (label, path) = match text.split_once('=') {
            // A path may have `=` in it, too.
            Some((label, path)) if !label.contains('/') => (Some(label), path),
            _ => (None, text),
        };
        if path.is_empty() {
            return Err("there is no file".to_owned());
        }
        let label = label.map(|label| match label.rsplit_once(':') {
            Some((arm, protocol)) if PROTOCOLS.contains(&protocol) => {
                Ok((arm.to_owned(), Some(protocol.to_owned())))
            }
            Some((_, other)) => Err(format!(
                "`{other}` is not one of {}; write ARM:PROTOCOL=FILE",
                PROTOCOLS.join(", ")
            )),
            None => Ok((label.to_owned(), None)),
        });
        Ok(Source {
            label: label.transpose()?,
            path: path.into(),
        })
    }
}

impl Source {
    /// Reports whether the user named the arm.
    pub(super) fn names_arm(&self) -> bool {
        self.label.is_some()
    }

    /// Returns the arm: as named, else by the file's name.
    pub(super) fn arm(&self) -> String {
        match &self.label {
            Some((arm, _)) => arm.clone(),
            None => {
                let stem = self.path.file_stem().unwrap_or_default();
                stem.to_string_lossy().into_owned()
            }
        }
    }

    /// Returns the protocol: as named, else the one that the arm is named after.
    pub(super) fn protocol(&self) -> Option<String> {
        let named = self
            .label
            .as_ref()
            .and_then(|(_, protocol)| protocol.clone());
        let arm = self.arm();
        named.or(PROTOCOLS.contains(&arm.as_str()).then_some(arm))
    }

    /// Reads its text, without a byte order mark.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        let failed = |e| exit::file_error(format!("cannot read {}", self.path.display()), e);
        let mut bytes = Vec::new();
        let input: Box<dyn Read> = match self.path.as_os_str() == OsStr::new("-") {
            true => Box::new(std::io::stdin()),
            false => Box::new(std::fs::File::open(&self.path).map_err(failed)?),
        };
        let mut input = input.take(MAX_BYTES + 1);
        input.read_to_end(&mut bytes).map_err(failed)?;
        let file = self.path.display();
        anyhow::ensure!(
            bytes.len() as u64 <= MAX_BYTES,
            "{file}: more than {} MiB; import it in parts, e.g. by network",
            MAX_BYTES >> 20
        );
        anyhow::ensure!(
            !bytes.starts_with(GZIP),
            "{file}: it is compressed: gunzip -c {file} > FILE, and import that"
        );
        let head = bytes.get(..GOB_HEAD_BYTES).unwrap_or_default();
        anyhow::ensure!(
            !head.windows(GOB.len()).any(|window| window == GOB),
            "{file}: vegeta's results in its own encoding: vegeta encode {file} > FILE, and import that"
        );
        if let Some(rest) = bytes.strip_prefix("\u{feff}".as_bytes()) {
            bytes = rest.to_vec();
        }
        String::from_utf8(bytes).with_context(|| format!("{file}: not text in UTF-8"))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: line {}", self.file.display(), self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_an_arm_and_perhaps_a_protocol() {
        for (text, arm, protocol, path) in [
            ("h2.csv", "h2", Some("h2"), "h2.csv"),
            ("runs/new.csv", "new", None, "runs/new.csv"),
            ("old=a=b.csv", "old", None, "a=b.csv"),
            ("./a=b.csv", "a=b", None, "./a=b.csv"),
            ("go 1.26:h3=x.csv", "go 1.26", Some("h3"), "x.csv"),
            ("h1=-", "h1", Some("h1"), "-"),
        ] {
            let source: Source = text.parse().unwrap();
            let got = (source.arm(), source.protocol(), source.path.clone());
            assert_eq!(
                got,
                (arm.to_owned(), protocol.map(str::to_owned), path.into()),
                "{text}"
            );
        }
        assert_eq!("h2=".parse::<Source>(), Err("there is no file".to_owned()));
        let error = "new:http2=x.csv".parse::<Source>().unwrap_err();
        assert!(
            error.starts_with("`http2` is not one of h1, h2, h3"),
            "{error}"
        );
    }
}
