//! HTTP/1.1 as OkHttp speaks it to the engine within the process (RFC 9112).
//!
//! hyper has a server, which does not fit: it sends trailers only if their names were announced in
//! the head (which the engine does not know when it comes over HTTP/2 or HTTP/3) and the request
//! said `TE: trailers` (which OkHttp does not).

mod request;
mod response;

pub(crate) use request::{Body, Head, Malformed, head as request_head};
pub(crate) use response::{
    Framing, InvalidLength, Shape, chunk, head as response_head, last_chunk,
};

/// Bytes of a head, also the most that OkHttp accepts.
pub(crate) const MAX_HEAD: usize = 256 << 10;
