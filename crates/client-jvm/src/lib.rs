//! The client for the JVM: sockets for OkHttp whose other end is the engine.
//!
//! OkHttp opens a socket and speaks HTTP/1.1 on it. The socket never leaves the process: what is
//! written to it is read on the engine's thread, sent by the fastest route, and the response is
//! written back, so that all that OkHttp does above its sockets stays. `bindings/okhttp` has the
//! Java half.
//!
//! # The life of a socket
//!
//! ```text
//!   OkHttp's thread             |            the engine's thread
//!   Native.open  --------- pipe::pipe ------> Engine::spawn(door::serve)
//!   Native.write -> AppEnd::write ~~~~~~~~~~> http1::request_head, Body::take -> Request::send
//!   Native.read  <- AppEnd::read  <~~~~~~~~~~ http1::response_head, chunks    <- Response::chunk
//!   Native.close -> AppEnd::close ~~~~~~~~~~> the request is dropped, which cancels it
//!                                             end::End: why the engine ended the socket
//! ```
//!
//! Reading and writing block, as they do on any socket. The engine's thread asks the JVM only to
//! check certificates (`trust.rs`). No native method lets a panic out: it becomes an exception.

mod door;
mod end;
mod handles;
mod http1;
mod memories;
mod native;
mod pipe;
mod trust;
