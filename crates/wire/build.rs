//! Generates the gRPC client and server from the schema, with the protoc that comes as a
//! crate: nothing need be installed.

use std::error::Error;

const SCHEMA: &str = "proto/commute/v1/echo.proto";

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = tonic_prost_build::Config::new();
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    // File contents stay in the buffers they arrived in.
    config.bytes(["."]);
    println!("cargo:rerun-if-changed={SCHEMA}");
    tonic_prost_build::configure().compile_with_config(config, &[SCHEMA], &["proto"])?;
    Ok(())
}
