//! The content of every request: schema, messages, codecs and files.
//!
//! Every arm of a study must carry the same content, or the study compares contents. So the content
//! is made here, for the server and for every driver written in Rust:
//!
//! - [`Echo`] is the message of the `call` step. It has a JSON encoding (HTTP) and a Protobuf
//!   encoding (gRPC) with the same two fields; converting between them loses nothing.
//! - [`fill`] writes any range of the one endless file that downloads and uploads are prefixes of;
//!   [`digest_of`] is the SHA-256 of a prefix. The bytes are incompressible, so that no middlebox or
//!   codec can shorten them.
//! - [`v1`] is the generated gRPC client and server of `proto/commute/v1/echo.proto`.
//! - A [`Message`] of the codec bench is found by its [`Name`] and made from a seed; [`to_value`]
//!   writes it to a value file, which any language can read bit for bit.
//! - A [`Codec`] encodes and decodes messages, and treats all input as untrusted.
//! - An [`Answer`] tells a server how to answer a request of a study's own.

#![forbid(unsafe_code)]

#[macro_use]
mod message;

mod answer;
mod catalogue;
mod codec;
mod echo;
mod file;
mod grpc;
mod random;
mod schema;
mod value;

pub use answer::{Answer, fields_digest};
pub use catalogue::{Name, NameError};
pub use codec::{
    Codec, CodecError, Coder, Compression, Compressor, DecodeError, DecompressError, Format,
    MediaTypeError, SIZE_LIMIT_BYTES,
};
pub use echo::{Echo, EchoError};
pub use file::{digest_of, fill, hex};
pub use grpc::PassThrough;
pub use message::{Kind, Message};
pub use random::Random;
pub use schema::schema_json;
pub use value::{ValueError, from_value, to_value};

/// The gRPC service that exchanges messages, with one method per [`Kind`]:
/// `proto/commute/bench/v1/exchange.proto`.
pub const EXCHANGE: &str = "/commute.bench.v1.Exchange";
/// The path of the gRPC service for uploads of one message.
pub const SUBMIT: &str = "/commute.bench.v1.Submit";

/// Package `commute.v1`, generated from the schema: messages, client and server.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub mod v1 {
    tonic::include_proto!("commute.v1");
}

/// Package `commute.bench.v1`, generated from the schema: the messages of the codec bench.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
pub mod bench {
    include!(concat!(env!("OUT_DIR"), "/commute.bench.v1.rs"));
}
