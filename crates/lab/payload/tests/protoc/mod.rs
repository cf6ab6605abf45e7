//! Runs Google's protoc.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "protoc reads and writes files"
)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use payload::Schema;
use prost_reflect::prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;

/// Runs protoc on `payload.proto` in a folder, with `input` on standard input.
pub(crate) fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut protoc = Command::new(protoc_bin_vendored::protoc_bin_path().unwrap())
        .arg("-I")
        .arg(folder)
        .args(arguments)
        .arg("payload.proto")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    protoc.stdin.take().unwrap().write_all(input).unwrap();
    let output = protoc.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

pub(crate) fn folder_with(proto: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("payload.proto"), proto).unwrap();
    folder
}

/// Asserts that protoc compiles the .proto text to the descriptor that reflection uses here.
pub(crate) fn assert_agrees(schema: &Schema) {
    let folder = folder_with(&schema.to_proto());
    let set = folder.path().join("set");
    let out = format!("--descriptor_set_out={}", set.display());
    run(folder.path(), &[&out], &[]);
    let compiled = FileDescriptorSet::decode(&fs::read(&set).unwrap()[..]).unwrap();
    let built = schema
        .descriptor()
        .parent_file()
        .file_descriptor_proto()
        .clone();
    let mut built_messages = built.message_type;
    built_messages.sort_by(|one, other| one.name.cmp(&other.name));
    let mut messages = compiled.file[0].message_type.clone();
    messages.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(built_messages, messages);
}
