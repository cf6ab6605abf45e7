//! All tests over sockets but `bombs`, which measures its whole process: one program, since it is linking that
//! takes long.

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod auth;
mod exchange;
mod faults;
mod handshakes;
mod heads;
mod http1_abuse;
mod http2_floods;
mod http3_floods;
mod http3_streams;
mod limits;
mod log;
mod messages;
mod mtls;
mod protocols;
mod quic_faults;
mod submissions;
