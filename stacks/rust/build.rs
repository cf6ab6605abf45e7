//! Passes the versions of the libraries, taken from the lock file, to the compiler as variables.

use std::path::Path;

/// The crates whose versions `hello` gives, and the variable of each.
const VERSION_VARIABLES: [(&str, &str); 6] = [
    ("hyper", "HYPER_VERSION"),
    ("h2", "H2_VERSION"),
    ("h3", "H3_VERSION"),
    ("quinn-proto", "QUINN_PROTO_VERSION"),
    ("rustls", "RUSTLS_VERSION"),
    ("tonic", "TONIC_VERSION"),
];

fn main() {
    // That of the workspace, or the copy that every package has.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lock = ["../../Cargo.lock", "Cargo.lock"].map(|name| root.join(name));
    let lock = lock.into_iter().find(|lock| lock.is_file());
    let lock = lock.expect("a workspace and a package both have one");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(&lock).expect("it is a file");
    for (name, variable) in VERSION_VARIABLES {
        let version = text
            .split("[[package]]")
            .find(|entry| entry.contains(&format!("name = \"{name}\"\n")))
            .and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next())
            .expect("each is a dependency of this crate");
        println!("cargo::rustc-env={variable}={version}");
    }
}
