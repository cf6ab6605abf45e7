//! `--pcap`: what each end of the link sent and received, in a file of its own.

use crate::out;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pump::{Bench, Side};

/// The files of a capture, created before the command runs: a folder that cannot be written must
/// not cost the capture of a long run.
pub(crate) struct Capture {
    files: Vec<(Side, PathBuf, File)>,
}

impl Capture {
    /// Creates the folder and, empty, its files.
    pub(crate) fn create(dir: &Path) -> anyhow::Result<Capture> {
        let failed = || format!("--pcap {}", dir.display());
        std::fs::create_dir_all(dir).with_context(failed)?;
        let files = Side::BOTH.into_iter().map(|side| {
            let path = dir.join(side.name()).with_extension("pcapng");
            let file = File::create(&path).with_context(failed)?;
            Ok((side, path, file))
        });
        Ok(Capture {
            files: files.collect::<anyhow::Result<_>>()?,
        })
    }

    /// Writes the packets of the last window.
    pub(crate) fn save(self, bench: &mut Bench) -> anyhow::Result<()> {
        for (side, path, mut file) in self.files {
            let (mut frames, missed) = bench.capture(side)?;
            std::io::copy(&mut frames, &mut file)
                .with_context(|| format!("--pcap {}", path.display()))?;
            if missed > 0 {
                out::note!(
                    "{}: full; {missed} more packets were not saved",
                    path.display()
                );
            }
        }
        Ok(())
    }
}
