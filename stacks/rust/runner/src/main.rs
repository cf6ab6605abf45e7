//! The codec runner of the runtime `rust`, by `docs/codec-runner.md`.
//!
//! A line of the bench is a [`protocol::Request`]; a [`session::Session`] answers it. What can
//! be asked for stands in one table ([`codec::OFFERS`]): an offer opens a library for one kind
//! of message, and [`codec::At`] turns that into bytes, values, or a step that is timed.
//!
//! The plain objects are prost's structs with serde's derives (`wire::bench`), which most
//! libraries work on as they are. zerompk and planus want types of their own: `build/` makes
//! them, and the way there and back, from the schema.

mod codec;
mod files;
mod heap;
mod protocol;
mod session;

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::process::ExitCode;

use driver::env::{ENV_IN, ENV_OUT};

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("commute-runner: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let path = |name| {
        let unset = || format!("{name} is not set: a runner is started by the bench");
        env::var_os(name).ok_or_else(|| io::Error::other(unset()))
    };
    let requests = BufReader::new(File::open(path(ENV_IN)?)?);
    let replies = OpenOptions::new().write(true).open(path(ENV_OUT)?)?;
    session::serve(requests, replies)
}
