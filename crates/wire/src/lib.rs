//! What goes over the wire: the schema, the messages, the files.
//!
//! Every arm of a study must carry the same content, or the comparison is of contents. So
//! both are made here, for the server and for every driver written in Rust:
//!
//! - [`Echo`] is the small call's message. It has a JSON form (HTTP) and a Protobuf form
//!   (gRPC) that hold the same two fields; converting between them loses nothing.
//! - [`fill`] yields any part of the one endless file that downloads and uploads are
//!   prefixes of; [`digest_of`] is the SHA-256 that a whole and right copy must have. The
//!   bytes are incompressible, so no middlebox or codec shortens them unseen.
//! - [`v1`] is the generated gRPC client and server of `proto/commute/v1/echo.proto`.
//! - A [`Message`] is one of the codec bench's, found by its [`Name`] and made from a seed;
//!   [`to_value`] writes it down so that any language can read it to the bit.
//! - A [`Codec`] makes bytes of a message and a message of bytes, and trusts no bytes.

#[macro_use]
mod message;

mod catalogue;
mod codec;
mod echo;
mod file;
mod grpc;
mod random;
mod schema;
mod value;

pub use catalogue::{Name, NameError};
pub use codec::{
    Codec, CodecError, Coder, Compression, Compressor, DecodeError, DecompressError, Form,
    MediaError, SIZE_LIMIT_BYTES,
};
pub use echo::{Echo, EchoError};
pub use file::{digest_of, fill, hex};
pub use grpc::PassThrough;
pub use message::{Kind, Message};
pub use random::Random;
pub use schema::schema_json;
pub use value::{ValueError, from_value, to_value};

/// The gRPC service that exchanges messages, one method for each [`Kind`]:
/// `proto/commute/bench/v1/exchange.proto`.
pub const EXCHANGE: &str = "/commute.bench.v1.Exchange";

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
