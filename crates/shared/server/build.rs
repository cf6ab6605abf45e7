//! Passes the versions of the libraries, taken from the lock file, to the compiler as variables.

use std::path::Path;

/// The crates whose versions `server::LIBRARIES` gives, and the variable of each.
const VERSION_VARIABLES: [(&str, &str); 3] = [
    ("hyper", "HYPER_VERSION"),
    ("quinn-proto", "QUINN_PROTO_VERSION"),
    ("tonic", "TONIC_VERSION"),
];

fn main() {
    // The workspace's, or, where a registry's package is built, the one that was packed.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let locks = ["../../../Cargo.lock", "Cargo.lock"].map(|name| root.join(name));
    let lock = locks
        .iter()
        .find(|lock| lock.is_file())
        .expect("a workspace and a package both have a lock file");
    println!("cargo::rerun-if-changed={}", lock.display());
    let text = std::fs::read_to_string(lock).expect("the lock file is readable");
    for (name, variable) in VERSION_VARIABLES {
        let version = text
            .split("[[package]]")
            .find(|entry| entry.contains(&format!("name = \"{name}\"\n")))
            .and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next())
            .expect("each is a dependency of this crate");
        println!("cargo::rustc-env={variable}={version}");
    }
}
