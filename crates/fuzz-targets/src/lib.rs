//! The fuzz targets: parsers of foreign input, as functions of arbitrary bytes.
//!
//! A target panics if the input breaks what its comment says. The binaries in `fuzz/` run the targets with coverage
//! feedback and AddressSanitizer. `tests/corpus.rs` runs them in the ordinary build, on the committed corpus and on
//! mutations of it.

#![forbid(unsafe_code)]

mod alt_svc;
mod c_abi;
mod capture;
mod certificate;
mod codec;
mod curl;
mod driver_lines;
mod early_frames;
mod frame;
mod h3_frames;
mod har;
mod https_records;
mod import;
mod manifest;
mod memory_file;
mod network;
mod payload;
mod records;
mod server_log;
mod signature;
mod study;
mod trace;
mod trace_import;
mod value_file;
mod written;

// The parser of HTTP/3 frames. Its modules import each other from the root of their crate.
#[path = "../../shared/h3/src/messages.rs"]
mod messages;
#[path = "../../shared/h3/src/refused.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "its other users are in crates/shared/h3"
)]
mod refused;
#[path = "../../shared/h3/src/section.rs"]
mod section;
#[path = "../../shared/h3/src/varint.rs"]
mod varint;

pub use alt_svc::alt_svc;
pub use c_abi::c_abi;
pub use capture::capture;
pub use certificate::certificate;
pub use codec::codec;
pub use curl::curl;
pub use driver_lines::driver_lines;
pub use early_frames::early_frames;
pub use frame::frame;
pub use h3_frames::h3_frames;
pub use har::har;
pub use https_records::https_records;
pub use import::import;
pub use manifest::manifest;
pub use memory_file::memory_file;
pub use network::network;
pub use payload::payload;
pub use records::records;
pub use server_log::server_log;
pub use signature::signature;
pub use study::study;
pub use trace::trace;
pub use trace_import::trace_import;
pub use value_file::value_file;

/// A function that panics on input that it mishandles.
pub type Target = fn(&[u8]);

/// All targets by name. `fuzz/corpus/NAME` has valid input for each.
pub const TARGETS: &[(&str, Target)] = &[
    ("alt_svc", alt_svc),
    ("c_abi", c_abi),
    ("capture", capture),
    ("certificate", certificate),
    ("codec", codec),
    ("curl", curl),
    ("driver_lines", driver_lines),
    ("early_frames", early_frames),
    ("frame", frame),
    ("h3_frames", h3_frames),
    ("har", har),
    ("https_records", https_records),
    ("import", import),
    ("manifest", manifest),
    ("memory_file", memory_file),
    ("network", network),
    ("payload", payload),
    ("records", records),
    ("server_log", server_log),
    ("signature", signature),
    ("study", study),
    ("trace", trace),
    ("trace_import", trace_import),
    ("value_file", value_file),
];
