//! A user's own JSON: the schema it has, and what it costs.
//!
//! The life of a sample:
//!
//! 1. A [`Sample`] is bytes and a name for messages. [`infer`] reads all samples, one after the
//!    other and as a stream, and notes for each place in them what stood there.
//! 2. The places become a [`Schema`]: Protobuf messages that hold every sample. Where samples
//!    disagree, or JSON says something that Protobuf has no word for, one simple way is taken
//!    and a [`Note`] says which and why. [`Schema::to_proto`] is the schema as text.
//! 3. [`Schema::encode`] writes a sample as Protobuf, [`Schema::decode`] reads it back, and
//!    [`Schema::check`] holds one against the other.
//! 4. [`forms`] gives the sample in every encoding that an app could take, and [`work()`] is what
//!    making and reading them takes.
//!
//! # What Protobuf cannot tell
//!
//! In a field, JSON knows four kinds of nothing: no such key, `null`, `[]` and, of a map, `{}`.
//! Protobuf has one, the field that is not set. It reads back as what the samples had there; of
//! several, as an empty list or map rather than nothing, and as no key rather than `null`, and a
//! note says so. As elements of a list they stay apart. `1` and `1.0` are one number, and an
//! integer among fractions is a double. Keys come back in another order.
//!
//! # What is left out
//!
//! FlatBuffers: its bytes need code generated from a schema of its own, so there is no encoding
//! a sample without a compiler. Clock, network, files and threads: the caller has them.

#![forbid(unsafe_code)]

mod decode;
mod descriptor;
mod encode;
mod forms;
mod infer;
mod lower;
mod names;
mod note;
mod path;
mod place;
mod proto;
mod read;
mod same;
mod sample;
mod schema;
mod transcode;
mod work;

pub use decode::DecodeError;
pub use forms::{Form, Format, forms};
pub use infer::{InferError, infer};
pub use note::Note;
pub use same::CheckError;
pub use sample::{MAX_SAMPLE_BYTES, Sample, SampleError};
pub use schema::Schema;
pub use work::{Work, work};
