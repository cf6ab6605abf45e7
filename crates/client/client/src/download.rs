//! Downloads: bodies kept in files, resumed where they broke off, even in another process.
//!
//! Beside `FILE` lies `FILE.part`, the bytes received so far. `FILE.meta` describes the whole file: the digest of the
//! URL, the length, and the validator. Both go when the file is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::file_identity::is_same_file;
use crate::report::Report;
use crate::request::Request;
use crate::response::Response;

/// Longer ones are none that were written here.
const MAX_META_BYTES: u64 = 4 << 10;

/// A file that was downloaded.
#[derive(Clone, Debug)]
pub struct Downloaded {
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Bytes of it that were there before.
    pub kept_bytes: u64,
    /// How the response came.
    pub report: Report,
}

/// The body that an incomplete download is the beginning of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartialDownload {
    pub(crate) etag: HeaderValue,
    pub(crate) coding: Vec<HeaderValue>,
    pub(crate) length: u64,
    pub(crate) position: u64,
}

impl Request {
    /// Sends the request and keeps the body in a file, which appears when it is complete. An error or the end of the
    /// process may interrupt the download. The next one to the same file then continues where it broke off, provided
    /// that the server's file is still the same. Only a GET that may be repeated continues; any other request starts
    /// again from the beginning.
    ///
    /// [`Error::Refused`] if the server answers with another status than 200, and
    /// [`Error::File`] if the file cannot be written or another download is writing it.
    pub async fn download(self, to: impl Into<PathBuf>) -> Result<Downloaded, Error> {
        let mut target =
            DownloadTarget::open(to.into(), self.url()).map_err(|error| file_error(&error))?;
        let partial = target.partial().filter(|_| self.may_go_on());
        let (mut response, kept_bytes) = match partial {
            Some(partial) => match self.clone().send_from(&partial).await {
                Ok(response) => (response, partial.position),
                // Once more from its beginning.
                Err(Error::Refused(status)) if may_have_changed(status) => (self.send().await?, 0),
                Err(error) => return Err(error),
            },
            None => (self.send().await?, 0),
        };
        if kept_bytes == 0 && response.status() != StatusCode::OK {
            return Err(Error::Refused(response.status()));
        }
        let begins = target.begin(&response, kept_bytes);
        begins.map_err(|error| file_error(&error))?;
        while let Some(chunk) = response.chunk().await? {
            let written = target.part.write_all(&chunk);
            written.map_err(|error| file_error(&error))?;
        }
        let bytes = target.complete().map_err(|error| file_error(&error))?;
        Ok(Downloaded {
            bytes,
            kept_bytes,
            report: response.report().clone(),
        })
    }
}

/// Reports whether an answer that is not the requested rest means that the file has changed, or that the server has no
/// ranges. Other answers say nothing of the file.
pub(crate) fn may_have_changed(status: StatusCode) -> bool {
    [
        StatusCode::OK,
        StatusCode::PARTIAL_CONTENT,
        StatusCode::RANGE_NOT_SATISFIABLE,
    ]
    .contains(&status)
}

/// The files of a download, locked by one download at a time.
struct DownloadTarget {
    path: PathBuf,
    part: File,
    url_digest: String,
}

impl DownloadTarget {
    fn open(path: PathBuf, url: &str) -> io::Result<Self> {
        let part_path = beside(&path, "part");
        let part = loop {
            if let Some(part) = lock(open(&part_path)?, &part_path)? {
                break part;
            }
        };
        let url_digest = digest(url);
        Ok(Self {
            path,
            part,
            url_digest,
        })
    }

    /// Returns the incomplete download, if its body is known.
    fn partial(&self) -> Option<PartialDownload> {
        let meta = beside(&self.path, "meta");
        if fs::metadata(&meta).ok()?.len() > MAX_META_BYTES {
            return None;
        }
        let text = fs::read_to_string(meta).ok()?;
        let mut lines = text.lines();
        let digest = lines.next()?;
        let length = lines.next()?.parse().ok()?;
        let etag = HeaderValue::from_str(lines.next()?).ok()?;
        let coding = lines.map(HeaderValue::from_str);
        let coding = coding.collect::<Result<_, _>>().ok()?;
        let position = self.part.metadata().ok()?.len();
        let fits = digest == self.url_digest && position > 0 && position < length;
        fits.then_some(PartialDownload {
            etag,
            coding,
            length,
            position,
        })
    }

    /// Empties the part for a new body, and records the identity of the body if it can be resumed.
    fn begin(&mut self, response: &Response, kept_bytes: u64) -> io::Result<()> {
        if kept_bytes > 0 {
            return Ok(());
        }
        self.part.set_len(0)?;
        let meta = beside(&self.path, "meta");
        let text = response.resumable().and_then(|fetcher| {
            let mut text = format!("{}\n{}\n", self.url_digest, fetcher.length);
            for value in [&fetcher.etag].into_iter().chain(&fetcher.coding) {
                text.push_str(value.to_str().ok()?);
                text.push('\n');
            }
            Some(text)
        });
        match text {
            Some(text) => fs::write(meta, text),
            None => remove(&meta),
        }
    }

    /// Gives the file its name. Files beside it may then belong to another download.
    fn complete(&mut self) -> io::Result<u64> {
        self.part.sync_all()?;
        let bytes = self.part.metadata()?.len();
        remove(&beside(&self.path, "meta"))?;
        fs::rename(beside(&self.path, "part"), &self.path)?;
        Ok(bytes)
    }
}

fn open(part_path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).open(part_path)
}

/// Locks the file; returns nothing if it no longer has this path, because another download completed it
/// before the lock was taken.
fn lock(part: File, part_path: &Path) -> io::Result<Option<File>> {
    part.try_lock()
        .map_err(|_| io::Error::other("another download is writing it"))?;
    let locked = part.metadata()?;
    match fs::metadata(part_path) {
        Ok(there) => Ok(is_same_file(&there, &locked).then_some(part)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the first 64 bits of the SHA-256 of `url`, as hexadecimal digits.
fn digest(url: &str) -> String {
    let hash = Sha256::digest(url.as_bytes());
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn file_error(error: &io::Error) -> Error {
    Error::File(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_completed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let part_path = beside(&path, "part");
        let mut first = DownloadTarget::open(path.clone(), "https://a.example/").unwrap();
        first.part.write_all(b"whole").unwrap();
        let late = open(&part_path).unwrap();
        first.complete().unwrap();
        drop(first);
        await_unlocked(&late);
        assert!(lock(late, &part_path).unwrap().is_none());
        let second = DownloadTarget::open(path.clone(), "https://a.example/").unwrap();
        second.part.set_len(0).unwrap();
        // Nor is one of which a third download has begun another part.
        let late = File::open(&path).unwrap();
        await_unlocked(&late);
        assert!(lock(late, &part_path).unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }
    /// Waits for the lock of a closed file. A child process of another test holds the lock until its exec.
    fn await_unlocked(file: &File) {
        file.lock().unwrap();
        file.unlock().unwrap();
    }
}
