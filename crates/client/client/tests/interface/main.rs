//! All tests of the interface but those that need a process, or cores, to themselves: one program, since it is
//! linking that takes long.

#[path = "../common/mod.rs"]
mod common;

mod bodies;
mod certificates;
mod chains;
mod connect;
mod disconnect;
mod downloads;
mod early_data;
mod goaway;
mod grpc;
mod h3_frames;
mod hostile;
mod https_record;
mod interim;
mod limits;
mod metrics;
mod paths;
mod quic;
mod ranges;
mod remembering;
mod requests;
mod signing;
mod slow_servers;
mod tls;
