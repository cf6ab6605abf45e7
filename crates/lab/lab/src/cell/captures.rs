//! Packets that a cell keeps on request: frames, the secrets to decrypt them, qlogs, critical paths.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pump::{Bench, Side};
use record::folder::{self, NewFile, Readers};

use super::error::CellError;
use super::scratch;

/// Memory for the captured frames of one direction.
const FRAME_BYTES: usize = 64 << 20;
/// The server's key log and its folder of qlogs, in its own folder.
const KEY_LOG: &str = "keys.log";
const QLOGS: &str = "qlog";

/// What a cell keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Captures {
    /// Every frame, as pcapng.
    pub(crate) pcap: Option<Kept>,
    /// The secrets of TLS sessions.
    pub(crate) keylog: Option<Kept>,
    /// A qlog of each QUIC connection.
    pub(crate) qlog: Option<Kept>,
    /// Whether the records get the critical path of each call.
    pub(crate) paths: bool,
}

/// Where files of one kind are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The folder of the run.
    pub(crate) run: PathBuf,
    /// The folder for the files, relative to that of the run.
    pub(crate) below: PathBuf,
    pub(crate) readers: Readers,
}

impl Kept {
    fn dir(&self) -> PathBuf {
        self.run.join(&self.below)
    }

    /// Creates the folder.
    fn create(&self) -> io::Result<PathBuf> {
        folder::create(&self.run, &self.below, self.readers)
    }

    /// Copies a file of a server into the folder.
    fn keep(&self, file: &Path) -> io::Result<()> {
        let copy = self.create()?.join(file.file_name().unwrap_or_default());
        let mut copy = NewFile::create(&copy, self.readers)?;
        io::copy(&mut scratch::open_written(file)?, &mut copy)?;
        copy.replace()
    }

    /// Copies all files of a folder, and removes those of an earlier invocation.
    fn keep_all(&self, files: &Path) -> io::Result<()> {
        // Fails where a link would lead the removal elsewhere.
        fs::remove_dir_all(self.create()?)?;
        for file in fs::read_dir(files)? {
            self.keep(&file?.path())?;
        }
        Ok(())
    }
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
        let Some(kept) = &self.pcap else {
            return Ok(());
        };
        let failed = failed("--pcap", kept);
        let dir = kept.create().map_err(&failed)?;
        for side in Side::BOTH {
            let path = dir.join(side.name()).with_extension("pcapng");
            let (mut frames, missed) = bench.capture(side)?;
            let mut file = NewFile::create(&path, kept.readers).map_err(&failed)?;
            io::copy(&mut frames, &mut file).map_err(&failed)?;
            file.replace().map_err(&failed)?;
            if missed > 0 {
                tracing::warn!("{}: {missed} frames did not fit", path.display());
            }
        }
        Ok(())
    }

    /// Copies what a server with this folder has written, once it has ended.
    pub(super) fn keep_of_server(&self, server: &Path) -> Result<(), CellError> {
        if let Some(kept) = &self.keylog {
            let file = server.join(KEY_LOG);
            kept.keep(&file).map_err(failed("--keylog", kept))?;
        }
        if let Some(kept) = &self.qlog {
            let files = server.join(QLOGS);
            kept.keep_all(&files).map_err(failed("--qlog", kept))?;
        }
        Ok(())
    }
}

fn failed(option: &str, kept: &Kept) -> impl Fn(io::Error) -> CellError {
    let what = format!("{option} {}", kept.dir().display());
    move |error| CellError::io(&what, &error)
}
