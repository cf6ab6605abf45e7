//! The messages of the codec runner, version 2; `docs/codec-runner.md` is the contract.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) const VERSION: u32 = 2;

/// What the bench asks of a runner.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Ask<'a> {
    Hello {
        version: u32,
    },
    Setup {
        schema_file: &'a Path,
    },
    Encode {
        codec: &'a str,
        library: &'a str,
        message: &'a str,
        value_file: &'a Path,
        encoded_file: &'a Path,
    },
    Decode {
        codec: &'a str,
        library: &'a str,
        message: &'a str,
        encoded_file: &'a Path,
        value_file: &'a Path,
    },
    Time {
        codec: &'a str,
        library: &'a str,
        message: &'a str,
        value_file: &'a Path,
        #[serde(skip_serializing_if = "Option::is_none")]
        encoded_file: Option<&'a Path>,
        part: Part,
        iterations: u64,
    },
    Close,
}

/// What a runner answers.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Answer {
    Hello(Hello),
    Ready,
    Encoded {
        bytes: u64,
    },
    Decoded,
    Refused {
        error: String,
    },
    Timed {
        elapsed_ns: u64,
        #[serde(default)]
        heap_bytes: Option<u64>,
    },
    Unsupported {
        what: String,
        reason: String,
    },
    Failed {
        reason: String,
    },
}

/// Who a runner is.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    pub(crate) runtime: String,
    pub(crate) runtime_version: String,
    pub(crate) codecs: Vec<CodecEntry>,
    #[serde(default)]
    pub(crate) heap: Option<String>,
}

/// One codec of a runner, by one library.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CodecEntry {
    /// As `json+gzip-6`.
    pub codec: String,
    /// The library, and the way it is called where there are several.
    pub library: String,
    /// Its version, as loaded.
    pub library_version: String,
    /// Which parts there are.
    pub parts: Vec<Part>,
    /// What every result of it must say.
    #[serde(default)]
    pub caveat: Option<String>,
    /// Why what it writes or reads is not always the value to the bit: a double may come back
    /// with 15 digits. Nothing else may differ.
    #[serde(default)]
    pub lossy: Option<String>,
    /// Why it refuses what other libraries rightly write.
    #[serde(default)]
    pub rejects_valid: Option<String>,
}

impl CodecEntry {
    /// It can do this part.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

/// A part of the way between an app's objects and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain objects to the library's own.
    Populate,
    /// The library's own to bytes.
    Encode,
    /// Bytes to the library's own.
    Decode,
    /// The library's own to plain objects.
    Convert,
}

impl Part {
    /// In the order of a message's life.
    pub const ALL: [Self; 4] = [Self::Populate, Self::Encode, Self::Decode, Self::Convert];
}
