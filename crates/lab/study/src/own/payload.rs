//! The bodies of a study's own requests and responses.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The longest bodies of a study, bytes in all: each driver and server has them in memory.
const MAX_BYTES: u64 = 32 << 20;
/// The content type of bytes of any kind.
pub(super) const BYTES: &str = "application/octet-stream";

/// Reads a file, by its path as the study gives it, of at most the given number of bytes.
pub type ReadFile<'a> = dyn Fn(&str, u64) -> io::Result<Vec<u8>> + 'a;

/// A body.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// Path of its file as the study gives it; none for made-up bytes.
    pub file: Option<String>,
    /// Its content type.
    pub content_type: String,
    /// Its bytes.
    pub content: Arc<[u8]>,
    /// In the forms in which arms send it otherwise.
    pub(super) forms: BTreeMap<super::Form, super::form::Encoded>,
}

/// The files that a study names, each read once.
pub(crate) struct PayloadFiles<'a> {
    read: &'a ReadFile<'a>,
    known: RefCell<BTreeMap<Source, Arc<[u8]>>>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    File(String),
    Seeded(u64),
}

impl Payload {
    /// Creates a body that every arm sends as it is.
    pub fn new(file: Option<String>, content_type: String, content: Arc<[u8]>) -> Self {
        Self {
            file,
            content_type,
            content,
            forms: BTreeMap::new(),
        }
    }

    /// Reports whether its content type is JSON's.
    pub(super) fn is_json(&self) -> bool {
        let essence = self.content_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        essence == "application/json" || essence.ends_with("+json")
    }
}

impl<'a> PayloadFiles<'a> {
    pub(crate) fn new(read: &'a ReadFile<'a>) -> Self {
        Self {
            read,
            known: RefCell::default(),
        }
    }

    /// Returns a file's content.
    pub(super) fn read(&self, key: &str, path: &str) -> Result<Arc<[u8]>, String> {
        self.get(key, Source::File(path.to_owned()), |limit| {
            (self.read)(path, limit).map_err(|e| format!("{key} = \"{path}\": {e}"))
        })
    }

    /// Returns `bytes` bytes that do not compress.
    pub(super) fn seeded(&self, key: &str, bytes: u64) -> Result<Arc<[u8]>, String> {
        self.get(key, Source::Seeded(bytes), |limit| {
            let mut content = vec![0; bytes.min(limit + 1) as usize];
            messages::fill(0, &mut content);
            Ok(content)
        })
    }

    /// Returns the content of every file, by path.
    pub(crate) fn into_files(self) -> BTreeMap<String, Arc<[u8]>> {
        let known = self.known.into_inner().into_iter();
        let file = |(source, content)| match source {
            Source::File(path) => Some((path, content)),
            Source::Seeded(_) => None,
        };
        known.filter_map(file).collect()
    }

    /// Returns the content of a source, which `make` reads up to a limit and a byte more.
    fn get(
        &self,
        key: &str,
        source: Source,
        make: impl FnOnce(u64) -> Result<Vec<u8>, String>,
    ) -> Result<Arc<[u8]>, String> {
        let mut known = self.known.borrow_mut();
        if let Some(content) = known.get(&source) {
            return Ok(content.clone());
        }
        let used: usize = known.values().map(|content| content.len()).sum();
        let limit = MAX_BYTES - used as u64;
        let content: Arc<[u8]> = make(limit)?.into();
        if content.len() as u64 > limit {
            return Err(format!(
                "{key}: the study's own requests and responses have more than {} MiB in all, the limit",
                MAX_BYTES >> 20
            ));
        }
        known.insert(source, content.clone());
        Ok(content)
    }
}

/// Returns the content type that a file's name stands for.
pub(super) fn type_of(file: &str) -> &'static str {
    let extension = Path::new(file).extension().and_then(|e| e.to_str());
    match extension.unwrap_or_default().to_ascii_lowercase().as_str() {
        "json" => "application/json",
        "xml" => "application/xml",
        "txt" => "text/plain; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "webp" => "image/webp",
        "pb" => "application/protobuf",
        "msgpack" => "application/vnd.msgpack",
        _ => BYTES,
    }
}
