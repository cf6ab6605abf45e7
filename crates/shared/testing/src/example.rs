//! Programs that only tests start.

use std::path::{Path, PathBuf};

/// Returns the path of an example of the workspace. `cargo test` builds those of the crate under test.
pub fn example(name: &str) -> PathBuf {
    // Tests are in `deps`, beside `examples`.
    let test = std::env::current_exe().unwrap_or_default();
    let built = test.ancestors().nth(2).unwrap_or(Path::new(""));
    let path = built.join("examples").join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --workspace --bins --examples` first, as `make test` does",
        path.display()
    );
    path
}
