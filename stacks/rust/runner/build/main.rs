//! Generates the versions of the libraries, and the message types of the libraries that need types
//! of their own.

mod mirror;
mod versions;

use std::error::Error;
use std::path::{Path, PathBuf};

/// Linked from `crates/shared/messages`, so that a package has it.
const SCHEMA: &str = "proto";
const MESSAGES: &str = "commute/bench/v1/bench.proto";
const FLAT: &str = "bench.fbs";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SCHEMA}/{MESSAGES}");
    println!("cargo::rerun-if-changed={FLAT}");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let messages = messages()?;
    std::fs::write(out.join("zerompk.rs"), mirror::zerompk(&messages))?;
    std::fs::write(out.join("flat.rs"), flat()?)?;
    std::fs::write(out.join("flat_mirror.rs"), mirror::flat(&messages))?;
    versions::emit()?;
    Ok(())
}

/// Reads the descriptors of the bench's messages.
fn messages() -> Result<Vec<prost_types::DescriptorProto>, Box<dyn Error>> {
    let mut config = tonic_prost_build::Config::new();
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    let files = config.load_fds(&[Path::new(SCHEMA).join(MESSAGES)], &[SCHEMA])?;
    let messages = files.file.into_iter().flat_map(|file| file.message_type);
    Ok(messages.collect())
}

/// Generates what `planus rust` would.
fn flat() -> Result<String, Box<dyn Error>> {
    let schema =
        planus_translation::translate_files(&[FLAT]).ok_or("bench.fbs does not compile")?;
    Ok(planus_codegen::generate_rust(&schema, false)?)
}
