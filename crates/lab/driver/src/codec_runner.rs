//! The messages of codec runner protocol version 2: one JSON object per line.
//!
//! `docs/codec-runner.md` is the contract. The bench sends a [`Request`], the runner answers with
//! a [`Reply`], over the same pipes as a driver's ([`mod@crate::env`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The protocol version of this module.
pub const VERSION: u32 = 2;

/// A request of the bench.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Asks which codecs the runner has. Answered by [`Reply::Hello`].
    Hello {
        /// The bench's protocol version.
        version: u32,
    },
    /// Hands over the schema. Answered by [`Reply::Ready`].
    Setup {
        /// The messages' schema as JSON, for runtimes without classes.
        schema_file: PathBuf,
    },
    /// Encodes a message. Answered by [`Reply::Encoded`].
    Encode(Encode),
    /// Decodes a message. Answered by [`Reply::Decoded`] or [`Reply::Refused`].
    Decode(Decode),
    /// Times a loop. Answered by [`Reply::Timed`].
    Time(Time),
    /// Asks the runner to exit with status 0. Not answered.
    Close,
}

/// The codec, library and message that a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The codec's name, e.g. `json+gzip-6`.
    pub codec: String,
    /// The library's name, as in [`CodecEntry::library`].
    pub library: String,
    /// The message's type in the schema, e.g. `ApiPage`.
    pub message: String,
}

/// A request to read a value file and write its encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encode {
    /// What to encode it with.
    #[serde(flatten)]
    pub task: Task,
    /// The value file to read.
    pub value_file: PathBuf,
    /// The file to write.
    pub encoded_file: PathBuf,
}

/// A request to decode a file and write its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decode {
    /// What to decode it with.
    #[serde(flatten)]
    pub task: Task,
    /// The file to read.
    pub encoded_file: PathBuf,
    /// The value file to write.
    pub value_file: PathBuf,
}

/// A request to time a loop over one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// What to time.
    #[serde(flatten)]
    pub task: Task,
    /// The value file of the message.
    pub value_file: PathBuf,
    /// The bytes to decode; absent: those that this library encodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoded_file: Option<PathBuf>,
    /// A [`Part`] by name. A string, so that a runner can answer `unsupported` to an unknown one.
    pub part: String,
    /// How often the loop runs; at least 1.
    pub iterations: u64,
}

/// A runner's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// The runner's runtime and codecs.
    Hello(Hello),
    /// The runner is set up.
    Ready,
    /// The encoding is written.
    Encoded {
        /// The length of the encoding.
        bytes: u64,
    },
    /// The value is written.
    Decoded,
    /// The loop has run.
    Timed {
        /// How long it took on the runner's monotonic clock.
        elapsed_ns: u64,
        /// Bytes that the loop allocated, if the runtime can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heap_bytes: Option<u64>,
        /// A sum over all results, so that the compiler cannot remove the work.
        #[serde(default)]
        sink: u64,
    },
    /// The bytes are not such a message.
    Refused {
        /// The library's error.
        error: String,
    },
    /// The runner cannot do what was asked; it goes on with the next request.
    Unsupported {
        /// The unknown or missing word, e.g. `codec cbor`.
        what: String,
        /// Why the runner does not have it.
        reason: String,
    },
    /// The runner cannot go on.
    Failed {
        /// Why it cannot go on.
        reason: String,
    },
}

/// A runner's introduction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version that the runner supports.
    pub version: u32,
    /// The runtime, as in its manifest, e.g. `jvm`.
    pub runtime: String,
    /// The runtime's version, as loaded.
    pub runtime_version: String,
    /// The codecs it has, each by each library.
    pub codecs: Vec<CodecEntry>,
    /// Where `heap_bytes` come from; absent if the runtime cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<String>,
}

/// One codec of a runner, by one library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodecEntry {
    /// The codec's name, e.g. `json+gzip-6`.
    pub codec: String,
    /// The library, and how it is called where there are several ways.
    pub library: String,
    /// The library's version, as loaded.
    pub library_version: String,
    /// The parts that can be timed.
    pub parts: Vec<Part>,
    /// A caveat on every result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Why values do not survive bit for bit, e.g. doubles with 15 digits. Nothing but the last
    /// digits of doubles may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossy: Option<String>,
    /// Why it refuses valid bytes of other libraries. It must read its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejects_valid: Option<String>,
}

/// A step between an app's plain objects and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// From plain objects to the library's own.
    Populate,
    /// From the library's objects to bytes.
    Encode,
    /// From bytes to the library's objects.
    Decode,
    /// From the library's objects to plain ones.
    Convert,
}

impl Part {
    /// All parts, in the order of a message's life.
    pub const ALL: [Self; 4] = [Self::Populate, Self::Encode, Self::Decode, Self::Convert];

    /// Returns the name in the protocol and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Populate => "populate",
            Self::Encode => "encode",
            Self::Decode => "decode",
            Self::Convert => "convert",
        }
    }
}

impl CodecEntry {
    /// Returns whether the library has this part.
    pub fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

impl Request {
    const TYPES: [&str; 6] = ["hello", "setup", "encode", "decode", "time", "close"];

    /// Reads a line. Unknown fields are ignored; an unknown `type` is the error
    /// [`RequestError::Unknown`], to be answered by [`Reply::Unsupported`].
    pub fn parse(line: &[u8]) -> Result<Self, RequestError> {
        #[derive(Deserialize)]
        struct Typed {
            r#type: String,
        }
        let Typed { r#type } = serde_json::from_slice(line)?;
        if !Self::TYPES.contains(&r#type.as_str()) {
            return Err(RequestError::Unknown(r#type));
        }
        Ok(serde_json::from_slice(line)?)
    }
}

/// Why a line is not a request that the runner can follow.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The request's type, which this version does not know.
    #[error("unknown request {0}")]
    Unknown(String),
    /// The line is not a request.
    #[error("not a request: {0}")]
    Malformed(#[from] serde_json::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            codec: "json".into(),
            library: "serde_json".into(),
            message: "Small".into(),
        }
    }

    #[test]
    fn requests_survive_their_line() {
        let time = Time {
            task: task(),
            value_file: "v".into(),
            encoded_file: None,
            part: Part::Encode.name().into(),
            iterations: 3,
        };
        for request in [
            Request::Hello { version: VERSION },
            Request::Setup {
                schema_file: "s".into(),
            },
            Request::Encode(Encode {
                task: task(),
                value_file: "v".into(),
                encoded_file: "e".into(),
            }),
            Request::Decode(Decode {
                task: task(),
                encoded_file: "e".into(),
                value_file: "v".into(),
            }),
            Request::Time(time),
            Request::Close,
        ] {
            let line = serde_json::to_vec(&request).unwrap();
            assert_eq!(Request::parse(&line).unwrap(), request);
        }
    }

    #[test]
    fn lines_are_as_documented() {
        let line = serde_json::to_string(&Request::Decode(Decode {
            task: task(),
            encoded_file: "e".into(),
            value_file: "v".into(),
        }));
        assert_eq!(
            line.unwrap(),
            r#"{"type":"decode","codec":"json","library":"serde_json","message":"Small","encoded_file":"e","value_file":"v"}"#
        );
        let timed = r#"{"type":"timed","elapsed_ns":7,"sink":1,"colour":"green"}"#;
        assert_eq!(
            serde_json::from_str::<Reply>(timed).unwrap(),
            Reply::Timed {
                elapsed_ns: 7,
                heap_bytes: None,
                sink: 1
            }
        );
    }

    #[test]
    fn unknown_types_differ_from_nonsense() {
        let unknown = Request::parse(br#"{"type":"levitate","height":3}"#);
        assert!(matches!(unknown, Err(RequestError::Unknown(kind)) if kind == "levitate"));
        let lines: [&[u8]; 4] = [b"", b"{}", b"[]", br#"{"type":"encode"}"#];
        for line in lines {
            let error = Request::parse(line).unwrap_err();
            assert!(matches!(error, RequestError::Malformed(_)), "{error}");
        }
    }

    #[test]
    fn part_names_are_those_of_the_protocol() {
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
        }
    }
}
