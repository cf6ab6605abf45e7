//! The codec runner of the runtime `rust` (`docs/codec-runner.md`).
//!
//! The bench sends a [`driver::codec_runner::Request`] per line; a `session::Session` answers it.
//! All codecs are in one table, `codec::OFFERS`. An offer opens a library for one kind of
//! message, and `codec::TypedCodec` makes that encode, decode, or provide a step to be timed.
//!
//! The plain objects are prost's structs with serde's derives (`messages::bench`), which most
//! libraries take as they are. zerompk and planus need types of their own, which `build/`
//! generates from the schema together with the conversions.

mod codec;
mod files;
mod heap;
mod reply;
mod session;

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::process::ExitCode;

use driver::env::{ENV_IN, ENV_OUT};

pub use heap::Counting;

/// Serves the bench until it closes the conversation. The global allocator of the program must be
/// [`Counting`].
pub fn start() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("codec runner: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let path = |name| {
        let unset = || format!("{name} is not set; runners are started by `commute codec`");
        env::var_os(name).ok_or_else(|| io::Error::other(unset()))
    };
    let requests = BufReader::new(File::open(path(ENV_IN)?)?);
    let replies = OpenOptions::new().write(true).open(path(ENV_OUT)?)?;
    session::serve(requests, replies)
}
