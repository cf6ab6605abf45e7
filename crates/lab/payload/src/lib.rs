//! A user's own JSON: its schema, its encodings, and what they cost to make and to read.
//!
//! The life of a sample:
//!
//! 1. A [`Sample`] is JSON text and a name for messages. [`infer`] streams through all samples in
//!    turn and records, for each path in them, the values it saw there.
//! 2. The observations become a [`Schema`]: Protobuf messages that can hold every sample. Where
//!    samples disagree, or JSON has something that Protobuf cannot express, the simplest model is
//!    chosen and a [`Note`] gives the choice and its reason. [`Schema::to_proto`] prints the schema.
//! 3. [`Schema::encode`] writes a sample as Protobuf, [`Schema::decode`] reads it back, and
//!    [`Schema::check`] compares the two.
//! 4. [`encodings`] writes the sample in every encoding that an app could use. [`benchmarks`] returns
//!    the loops that make and read them, to be timed by the caller.
//!
//! # What Protobuf cannot express
//!
//! In a field, JSON has four ways to say "nothing": no such key, `null`, `[]` and, for a map, `{}`.
//! Protobuf has one: the field is not set. It reads back as what the samples had there. Where they
//! had several, it reads back as an empty list or map rather than as nothing, and as no key rather
//! than as `null`. A note says so. As elements of a list the four stay distinct. `1` and `1.0`
//! are the same number, and integers among fractions are doubles. Keys come back in another order.
//!
//! # What is left out
//!
//! FlatBuffers, because its encoders are code generated from a schema of its own. Clock, network,
//! files and threads are the caller's.

#![forbid(unsafe_code)]

mod benchmarks;
mod check;
mod decode;
mod descriptor;
mod dynamic;
mod encode;
mod encodings;
mod infer;
mod lower;
mod names;
mod note;
mod observe;
mod observed;
mod path;
mod proto;
mod sample;
mod schema;
mod transcode;

pub use benchmarks::{Benchmark, benchmarks};
pub use check::CheckError;
pub use decode::DecodeError;
pub use dynamic::{Dynamic, Objects};
pub use encodings::{Encoding, Format, encodings};
pub use infer::{InferError, infer};
pub use note::Note;
pub use sample::{MAX_SAMPLE_BYTES, Sample, SampleError};
pub use schema::Schema;
pub use transcode::msgpack;
