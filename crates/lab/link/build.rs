//! Embeds every file of `networks/`, which is linked from the repository's root, so that a new network needs no edit of another file.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build script reads and writes files and prints to cargo; the model does not"
)]

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

const SCHEMA_LINE: &str = "#:schema ../docs/network.schema.json\n";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("networks");
    println!("cargo::rerun-if-changed={}", folder.display());

    let mut networks = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = fs::read_to_string(&path)?;
            // For editors; the path leads nowhere from a copy.
            let text = text.strip_prefix(SCHEMA_LINE).unwrap_or(&text).to_owned();
            networks.push((name, text));
        }
    }
    networks.sort();

    let mut code = "static BUILTIN: &[(&str, &str)] = &[\n".to_owned();
    for (name, text) in networks {
        writeln!(code, "    ({name:?}, {text:?}),")?;
    }
    code += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR")?).join("builtin.rs"), code)?;
    Ok(())
}
