//! Writes every message of the bench to a folder, as a value file and in every format of this
//! crate, for trying out a new codec runner.
//!
//! `cargo run -p commute-messages --example values FOLDER`

use std::path::PathBuf;

use messages::{Codec, Format, Name};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1);
    let Some(folder) = folder.map(PathBuf::from) else {
        eprintln!("usage: values FOLDER");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("schema.json"), messages::schema_json())?;
    for name in Name::ALL {
        let message = name.message(1);
        let write = |suffix: &str, bytes: &[u8]| {
            std::fs::write(folder.join(format!("{name}.{suffix}")), bytes)
        };
        write("kind", format!("{}\n", message.kind().name()).as_bytes())?;
        write("value", messages::to_value(&message).as_bytes())?;
        for format in Format::ALL {
            let bytes = Codec::plain(format).coder().encode(&message);
            write(format.name(), &bytes)?;
        }
    }
    Ok(())
}
