//! Generates the gRPC client and server of the bench's service, and the messages of the codec bench
//! with the schema's JSON names. protoc comes as a crate, so nothing needs to be installed.

use std::error::Error;

const SERVICE: &str = "proto/commute/v1/echo.proto";
const MESSAGES: &str = "proto/commute/bench/v1/bench.proto";
/// Only their descriptors are used: clients and server encode these messages themselves.
const EXCHANGE: &str = "proto/commute/bench/v1/exchange.proto";
const SUBMIT: &str = "proto/commute/bench/v1/submit.proto";
/// The fields whose `json_name` is not their name in lowerCamelCase. A test compares this table with
/// the schema.
const RENAMED: [(&str, &str); 21] = [
    ("Big.int_value", "int"),
    ("Big.float_value", "float"),
    ("Big.bool_value", "bool"),
    ("Big.int_arr", "intarr"),
    ("Big.str_arr", "strarr"),
    ("Big.bool_arr", "boolarr"),
    ("Big.map_arr", "maparr"),
    ("BigRecord.int_value", "int"),
    ("BigRecord.float_value", "float"),
    ("BigRecord.bool_value", "bool"),
    ("PerlRow.int_value", "int"),
    ("PerlRow.long_value", "long"),
    ("PerlRow.float_value", "float"),
    ("PerlRow.string_value", "string"),
    ("PerlRow.bool_value", "bool"),
    ("PerlMap.int_value", "int"),
    ("PerlMap.long_value", "long"),
    ("PerlMap.float_value", "float"),
    ("PerlMap.string_value", "string"),
    ("PerlMap.bool_value", "bool"),
    ("Echo.start_ts", "start_ts"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SERVICE}");
    println!("cargo:rerun-if-changed={MESSAGES}");
    println!("cargo:rerun-if-changed={EXCHANGE}");
    println!("cargo:rerun-if-changed={SUBMIT}");
    let mut config = config()?;
    // File contents are not copied out of the buffers they arrived in.
    config.bytes(["."]);
    // Whoever opens connections depends on tonic's transport.
    let service = tonic_prost_build::configure().build_transport(false);
    service.compile_with_config(config, &[SERVICE], &["proto"])?;

    let descriptors = std::path::PathBuf::from(std::env::var("OUT_DIR")?).join("bench.fds");
    let mut config = self::config()?;
    config
        .file_descriptor_set_path(&descriptors)
        .type_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
        .type_attribute(".", "#[serde(rename_all = \"camelCase\")]")
        .field_attribute(
            "DiagPayload.body",
            "#[serde(with = \"crate::codec::base64_or_bytes\")]",
        );
    for (field, name) in RENAMED {
        config.field_attribute(field, format!("#[serde(rename = {name:?})]"));
    }
    config.compile_protos(&[MESSAGES, EXCHANGE, SUBMIT], &["proto"])?;
    Ok(())
}

fn config() -> Result<tonic_prost_build::Config, Box<dyn Error>> {
    let mut config = tonic_prost_build::Config::new();
    config.protoc_executable(protoc_bin_vendored::protoc_bin_path()?);
    Ok(config)
}
