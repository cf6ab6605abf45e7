//! HTTP/1.1 between OkHttp and the engine within the process (RFC 9112).
//!
//! hyper has a server, which does not fit. It sends trailers only if the head announces their names
//! and the request said `TE: trailers`. But the engine does not know the names in advance over
//! HTTP/2 or HTTP/3, and OkHttp does not say so.

mod request;
mod response;

pub(crate) use request::{Body, Head, Malformed, head as request_head};
pub(crate) use response::{
    Framing, InvalidLength, ResponsePlan, chunk, head as response_head, last_chunk,
};

/// Bytes of a head, also the most that OkHttp accepts.
pub(crate) const MAX_HEAD: usize = 256 << 10;
