//! Writes a study for the requests that an app really makes: those of a HAR that a browser or a proxy
//! saved, or of a `curl` command.
//!
//! The life of a request:
//!
//! 1. `har` or `curl` reads it as a `Seen`: when it was made, where to, and both
//!    bodies.
//! 2. `private` takes out what it recognises as private: credentials, values of the query and of
//!    bodies, numbers and tokens in paths. It cannot recognise everything, e.g. a name in a path. Bodies
//!    and queries keep their lengths. What was left out or replaced is counted in `Notes`.
//! 3. `group` folds requests of the same template, e.g. `/orders/17` and `/orders/18`, into one
//!    group, which one of them stands for.
//! 4. `workload` makes steps of their times: which requests overlapped, and where the user thought.
//! 5. `text` writes the study with comments, and names its payload files.
//!
//! Files are the caller's.

#![forbid(unsafe_code)]

mod curl;
mod group;
mod har;
mod held;
mod json;
mod notes;
mod operation;
mod private;
mod seen;
mod slug;
mod text;
mod url;
mod workload;

pub use curl::CurlError;
pub use har::HarError;
pub use slug::slug;

use notes::Notes;

/// The longest HAR that a caller should read.
pub const MAX_HAR_BYTES: u64 = 256 << 20;

/// How often a study makes the request of a curl command.
const CURL_REQUESTS: usize = 5;

/// What the caller chooses.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The study's name: lower-case letters, digits and dashes.
    pub name: &'a str,
    /// The folder of payload files, relative to the study; none if there can be no such files, so
    /// that bodies are written as sizes.
    pub folder: Option<&'a str>,
    /// Keep the values in URLs, header fields, JSON and forms. What has the name of a credential is left out
    /// all the same, and so is the text of other bodies.
    pub keep_values: bool,
    /// The host whose requests are the app's own, for a HAR; none for that of its first request.
    pub origin: Option<&'a str>,
    /// What the study compares.
    pub arms: Arms,
    /// How much it measures.
    pub scope: Scope,
}

/// How much a study measures: what its time is proportional to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The names of the networks.
    pub networks: &'static [&'static str],
    /// How often each arm runs on each of them.
    pub blocks: u32,
}

impl Scope {
    /// Two networks, one with loss, and blocks enough to decide small differences.
    pub const FULL: Scope = Scope {
        networks: &["4g-tether", "true-metro"],
        blocks: 14,
    };
}

/// The client libraries of a study. All must be installed for the study to give an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arms {
    /// Those that Android apps ship: OkHttp and Cronet.
    Apps,
    /// Those that the `commute` binary carries, in Rust.
    BuiltIn,
}

impl Arms {
    /// Returns the names of the stacks.
    pub fn stacks(self) -> &'static [&'static str] {
        match self {
            Arms::Apps => &["okhttp", "cronet"],
            Arms::BuiltIn => &["hyper", "quinn"],
        }
    }
}

/// A study and the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The study, in TOML.
    pub study: String,
    /// Payload files: each path as in the study, and its content.
    pub files: Vec<(String, String)>,
    /// What was left out, replaced or assumed: one line for each kind.
    pub notes: Vec<String>,
    /// Which values of the requests were kept and which were left out as credentials, and why: one line for each name and
    /// place. No line has a value.
    pub values: Vec<String>,
}

/// Returns a commented study to be changed by hand.
pub fn template(name: &str, arms: Arms) -> String {
    text::template(name, arms)
}

/// Returns a study with the requests of a HAR (format 1.2).
pub fn from_har(har: &[u8], options: &Options<'_>) -> Result<Written, HarError> {
    let mut notes = Notes::default();
    let seen = har::read(har, options.keep_values, &mut notes)?;
    if let Some(host) = options.origin {
        group::check_host(host, &seen).map_err(HarError::NoSuchHost)?;
    }
    text::study("a HAR", &seen, options, notes).map_err(HarError::NoRequest)
}

/// Returns a study for a server of the user's own, `https://HOST:PORT`, with the requests of a HAR that went to
/// it. Their values are kept, since that server would answer no others.
pub fn from_har_to(server: &str, har: &[u8], options: &Options<'_>) -> Result<Written, HarError> {
    let mut notes = Notes::default();
    let seen = har::read(har, true, &mut notes)?;
    text::study_of_server(server, "a HAR", seen, options, notes).map_err(HarError::NoRequest)
}

/// Returns a study with the request of a `curl` command, as browsers write it with "copy as cURL".
/// `read` returns the content of a file that the command names.
pub fn from_curl(
    command: &str,
    options: &Options<'_>,
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Written, CurlError> {
    let mut notes = Notes::default();
    let seen = curl::read(command, options.keep_values, read, &mut notes)?;
    // The first on a connection, and others on the open one.
    let seen = vec![seen; CURL_REQUESTS];
    text::study("a curl command", &seen, options, notes)
        .map_err(|reasons| CurlError::Request(reasons.join("; ")))
}

/// Returns a study for a server of the user's own, `https://HOST:PORT`, with the request of a `curl` command
/// to it, whose values are kept.
pub fn from_curl_to(
    server: &str,
    command: &str,
    options: &Options<'_>,
    read: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<Written, CurlError> {
    let mut notes = Notes::default();
    let seen = curl::read(command, true, read, &mut notes)?;
    let seen = vec![seen; CURL_REQUESTS];
    text::study_of_server(server, "a curl command", seen, options, notes)
        .map_err(|reasons| CurlError::Request(reasons.join("; ")))
}
