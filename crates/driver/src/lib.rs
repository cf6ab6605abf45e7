//! The driver protocol: types, schema, process host.

pub mod protocol;
