//! The stacks.

use std::process::ExitCode;

use crate::serve::serve;

pub mod client;
pub mod hyper;
pub mod quinn;
pub mod tonic;

/// The names of the drivers.
pub const NAMES: [&str; 4] = ["hyper", "client", "quinn", "tonic"];

/// Serves the lab with the stack of this name until the lab closes the conversation; none has another
/// name than those in [`NAMES`].
pub fn start(name: &str) -> Option<ExitCode> {
    Some(match name {
        "hyper" => serve::<hyper::Hyper>(),
        "client" => serve::<client::Client>(),
        "quinn" => serve::<quinn::Quinn>(),
        "tonic" => serve::<tonic::Tonic>(),
        _ => return None,
    })
}
