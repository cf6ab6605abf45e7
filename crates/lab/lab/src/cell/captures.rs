//! Packets that a cell keeps on request: frames, the secrets to decrypt them, qlogs, critical paths.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use pump::{Bench, Side};

use super::error::CellError;
use super::scratch;

/// Memory for the captured frames of one direction.
const FRAME_BYTES: usize = 64 << 20;
/// The server's key log and its folder of qlogs, in its own folder.
const KEY_LOG: &str = "keys.log";
const QLOGS: &str = "qlog";

/// What is kept: the folders for it, none for what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Captures {
    /// For every frame, as pcapng.
    pub(crate) pcap: Option<PathBuf>,
    /// For the secrets of TLS sessions.
    pub(crate) keylog: Option<PathBuf>,
    /// For a qlog of each QUIC connection.
    pub(crate) qlog: Option<PathBuf>,
    /// Whether the records get the critical path of each call.
    pub(crate) paths: bool,
}

impl Captures {
    /// Returns the memory for the frames of one direction.
    pub(super) fn frame_bytes(&self) -> usize {
        self.pcap.as_ref().map_or(0, |_| FRAME_BYTES)
    }

    /// Returns the arguments for a server with this folder.
    pub(super) fn server_args(&self, server: &Path) -> Vec<String> {
        let mut args = Vec::new();
        for (wanted, option, name) in [
            (&self.keylog, "--keylog", KEY_LOG),
            (&self.qlog, "--qlog", QLOGS),
        ] {
            if wanted.is_some() {
                args.extend([option.to_owned(), server.join(name).display().to_string()]);
            }
        }
        args
    }

    /// Writes what each end sent and received to a file of its own: in one file, an analyser would
    /// take a packet's second sight for a retransmission.
    pub(super) fn keep_frames(&self, bench: &mut Bench) -> Result<(), CellError> {
        let Some(dir) = &self.pcap else {
            return Ok(());
        };
        let failed = failed("--pcap", dir);
        fs::create_dir_all(dir).map_err(&failed)?;
        for side in Side::BOTH {
            let path = dir.join(side.name()).with_extension("pcapng");
            let (mut frames, missed) = bench.capture(side)?;
            let mut file = File::create(&path).map_err(&failed)?;
            io::copy(&mut frames, &mut file).map_err(&failed)?;
            if missed > 0 {
                tracing::warn!("{}: {missed} frames did not fit", path.display());
            }
        }
        Ok(())
    }

    /// Copies what a server with this folder has written, once it has ended.
    pub(super) fn keep_of_server(&self, server: &Path) -> Result<(), CellError> {
        if let Some(dir) = &self.keylog {
            keep(&server.join(KEY_LOG), dir).map_err(failed("--keylog", dir))?;
        }
        if let Some(dir) = &self.qlog {
            keep_all(&server.join(QLOGS), dir).map_err(failed("--qlog", dir))?;
        }
        Ok(())
    }
}

/// Copies all files of a folder into another, which has none of an earlier invocation then.
fn keep_all(files: &Path, dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for file in fs::read_dir(files)? {
        keep(&file?.path(), dir)?;
    }
    Ok(())
}

/// Copies a file of a server into a folder.
fn keep(file: &Path, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut copy = File::create(dir.join(file.file_name().unwrap_or_default()))?;
    io::copy(&mut scratch::open_written(file)?, &mut copy)?;
    Ok(())
}

fn failed(option: &str, dir: &Path) -> impl Fn(io::Error) -> CellError {
    let what = format!("{option} {}", dir.display());
    move |error| CellError::io(&what, &error)
}
