use payload::Sample;

/// Infers the schema of a user's own JSON and encodes it. Then decodes the data as Protobuf of a fixed schema.
pub fn payload(data: &[u8]) {
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
    let fixed = Sample {
        name: "fixed.json",
        json: br#"{"a":[{"b":1,"c":"x"}],"d":{"e":1.5,"f":null},"g":true}"#,
    };
    let schema = payload::infer(&[fixed]).expect("valid JSON");
    schema.decode(data).ok();
}
