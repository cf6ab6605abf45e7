//! What is said over the pipes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::codec::Part;

/// A line of the bench.
#[derive(Debug)]
pub(crate) enum Request {
    Hello,
    Setup,
    Encode(Encode),
    Decode(Decode),
    Time(Time),
    Close,
    /// Of a type that this runner does not know.
    Unknown(String),
}

/// Which library is to work on which kind of message.
#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) codec: String,
    pub(crate) library: String,
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Encode {
    #[serde(flatten)]
    pub(crate) task: Task,
    pub(crate) value_file: PathBuf,
    pub(crate) encoded_file: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Decode {
    #[serde(flatten)]
    pub(crate) task: Task,
    pub(crate) encoded_file: PathBuf,
    pub(crate) value_file: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Time {
    #[serde(flatten)]
    pub(crate) task: Task,
    pub(crate) value_file: PathBuf,
    pub(crate) encoded_file: Option<PathBuf>,
    pub(crate) part: String,
    pub(crate) iterations: u64,
}

impl Request {
    /// Understands a line.
    pub(crate) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Typed {
            r#type: String,
        }
        let Typed { r#type } = serde_json::from_slice(line)?;
        Ok(match r#type.as_str() {
            "hello" => Self::Hello,
            // The messages are compiled in: their schema need not be read.
            "setup" => Self::Setup,
            "encode" => Self::Encode(serde_json::from_slice(line)?),
            "decode" => Self::Decode(serde_json::from_slice(line)?),
            "time" => Self::Time(serde_json::from_slice(line)?),
            "close" => Self::Close,
            _ => Self::Unknown(r#type),
        })
    }
}

/// A line of the runner.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Reply {
    Hello(Hello),
    Ready,
    Encoded {
        bytes: usize,
    },
    Decoded,
    Timed {
        elapsed_ns: u64,
        heap_bytes: u64,
        sink: u64,
    },
    Refused {
        error: String,
    },
    Unsupported {
        what: String,
        reason: String,
    },
    Failed {
        reason: String,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    pub(crate) runtime: &'static str,
    pub(crate) runtime_version: &'static str,
    pub(crate) codecs: Vec<Offered>,
    pub(crate) heap: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Offered {
    pub(crate) codec: &'static str,
    pub(crate) library: &'static str,
    pub(crate) library_version: &'static str,
    pub(crate) parts: &'static [Part],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) caveat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejects_valid: Option<&'static str>,
}

impl Reply {
    pub(crate) fn refused(error: &impl ToString) -> Self {
        let error = line(error);
        Self::Refused { error }
    }

    pub(crate) fn unsupported(what: &str, reason: &impl ToString) -> Self {
        Self::Unsupported {
            what: line(&what),
            reason: line(reason),
        }
    }

    pub(crate) fn failed(reason: &impl ToString) -> Self {
        let reason = line(reason);
        Self::Failed { reason }
    }
}

/// Libraries quote their input over several lines; a reply has one, and of 64 KiB at most.
fn line(text: &impl ToString) -> String {
    let text = text.to_string();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(REASON_LIMIT_CHARS).collect()
}

const REASON_LIMIT_CHARS: usize = 1_000;
