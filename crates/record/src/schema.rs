//! The published schema of the files.

use schemars::{Schema, schema_for};

use crate::{Cell, Run};

/// JSON Schema of `run.json` and of a cell's file, as `docs/record.schema.json` has it.
pub fn schema() -> serde_json::Value {
    let of = |schema: Schema| schema.to_value();
    serde_json::json!({
        "run.json": of(schema_for!(Run)),
        "cells/<id>.<invocation>.<attempt>.json": of(schema_for!(Cell)),
    })
}
