//! The client for the JVM: in-process sockets for OkHttp, served by the engine.
//!
//! OkHttp opens a socket and writes HTTP/1.1 to it. The socket never leaves the process. The
//! engine's thread reads what is written to it, sends it by the fastest route, and writes the
//! response back. So everything that OkHttp does above its sockets stays. `bindings/okhttp` has the
//! Java half.
//!
//! # The life of a socket
//!
//! ```text
//!   OkHttp's thread             |            the engine's thread
//!   Native.open  --------- pipe::pipe ------> Engine::spawn(connection::serve)
//!   Native.write -> AppEnd::write ~~~~~~~~~~> http1::request_head, Body::take -> Request::send
//!   Native.read  <- AppEnd::read  <~~~~~~~~~~ http1::response_head, chunks    <- Response::chunk
//!   Native.close -> AppEnd::close ~~~~~~~~~~> the request is dropped, which cancels it
//!                                             CloseReason: why the engine closed the socket
//! ```
//!
//! Reading and writing block, as they do on any socket. The engine's thread calls the JVM only to
//! check certificates (`trust.rs`). No native method lets a panic out: it becomes an exception.

mod close_reason;
mod connection;
mod handles;
mod http1;
mod memory_folders;
mod native;
mod pipe;
mod trust;
