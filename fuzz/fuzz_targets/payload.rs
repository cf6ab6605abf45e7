#![no_main]
//! A user's own JSON: its schema, its encodings, and that it decodes to what it was.

use libfuzzer_sys::fuzz_target;
use payload::Sample;

fuzz_target!(|data: &[u8]| {
    let sample = Sample {
        name: "sample.json",
        json: data,
    };
    if let Ok(schema) = payload::infer(&[sample]) {
        schema.to_proto();
        schema
            .check(&sample)
            .expect("a schema holds its own sample");
        payload::encodings(&schema, &sample).ok();
    }
    // As Protobuf of a fixed schema.
    let fixed = Sample {
        name: "fixed.json",
        json: br#"{"a":[{"b":1,"c":"x"}],"d":{"e":1.5,"f":null},"g":true}"#,
    };
    let schema = payload::infer(&[fixed]).expect("valid JSON");
    schema.decode(data).ok();
});
