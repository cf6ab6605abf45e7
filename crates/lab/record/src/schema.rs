//! The published JSON Schema of the files.

use schemars::{Schema, schema_for};

use crate::cell::Cell;
use crate::run::Run;

/// Returns the JSON Schemas of `run.json` and of a cell's file, as in `docs/record.schema.json`.
pub fn schema() -> serde_json::Value {
    let value = |schema: Schema| schema.to_value();
    let mut schemas = serde_json::json!({
        "run.json": value(schema_for!(Run)),
        "cells/<id>.<invocation>.<attempt>.json": value(schema_for!(Cell)),
    });
    // Some of serde_json's users turn on a feature of it that keeps the order of insertion.
    schemas.sort_all_objects();
    schemas
}
