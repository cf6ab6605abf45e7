//! The checked-in header is the one made from the crate.

#[test]
fn the_checked_in_header_is_up_to_date() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let config = cbindgen::Config::from_file(format!("{folder}/cbindgen.toml"));
    let made = cbindgen::Builder::new()
        .with_crate(folder)
        .with_config(config.expect("cbindgen.toml is valid"))
        .generate()
        .expect("the crate has a C interface");
    let mut header = Vec::new();
    made.write(&mut header);
    let header = String::from_utf8(header).expect("a header is text");
    testing::golden(format!("{folder}/../../../bindings/c/commute.h"), &header);
}
