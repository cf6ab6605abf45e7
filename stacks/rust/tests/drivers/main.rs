//! All tests of the drivers: one program, since it is linking that takes long.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

mod against_server;
mod auth;
mod bad_responses;
mod broken_connections;
mod curl;
mod example_drivers;
mod exchanges;
mod hostile;
mod origins;
mod rejected_early_data;
mod unsupported_and_failed;
