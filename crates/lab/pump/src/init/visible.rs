//! Makes files and folders reachable for a user that may not enter their parents, e.g. a checkout below /root.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::sys;

/// Others may enter the folder.
const SEARCHABLE: u32 = 0o001;

/// Hides each folder that only its owner may enter and that contains one of `paths` behind an empty file system. There
/// `paths` are bound read-only, and `writable` as it is.
///
/// Only this mount namespace changes.
pub(crate) fn expose(paths: &[PathBuf], writable: &[PathBuf]) -> io::Result<()> {
    let mut wanted: Vec<(&PathBuf, bool)> = paths.iter().map(|p| (p, false)).collect();
    wanted.extend(writable.iter().map(|p| (p, true)));
    let mut hidden: Vec<(PathBuf, Vec<Bound>)> = Vec::new();
    for (path, writable) in wanted {
        let Some(closed) = closed_parent(path) else {
            continue;
        };
        let bound = Bound {
            path: path.clone(),
            is_dir: path.is_dir(),
            // Opened before it is hidden.
            handle: rustix::fs::open(
                path,
                rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
                rustix::fs::Mode::empty(),
            )?,
            writable,
        };
        match hidden.iter_mut().find(|(parent, _)| *parent == closed) {
            Some((_, bound_there)) => bound_there.push(bound),
            None => hidden.push((closed, vec![bound])),
        }
    }
    // Folders that lead to the bound ones are made here, and others must be able to enter them.
    let umask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    for (parent, mut bound) in hidden {
        sys::mount(Path::new("bench"), &parent, c"tmpfs", 0, c"mode=755")?;
        // A folder before those in it.
        bound.sort_by(|a, b| a.path.cmp(&b.path));
        bound.iter().try_for_each(Bound::mount)?;
    }
    rustix::process::umask(umask);
    Ok(())
}

/// A file or folder to be mounted where it was.
struct Bound {
    path: PathBuf,
    is_dir: bool,
    handle: OwnedFd,
    writable: bool,
}

impl Bound {
    fn mount(&self) -> io::Result<()> {
        // One within another that is bound already may be there.
        if self.is_dir {
            fs::create_dir_all(&self.path)?;
        } else if !self.path.exists() {
            fs::create_dir_all(self.path.parent().unwrap_or(Path::new("/")))?;
            fs::File::create(&self.path)?;
        }
        let source = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        let bind = libc::MS_BIND | libc::MS_REC;
        sys::mount(&source, &self.path, c"", bind, c"")?;
        if !self.writable {
            let read_only = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
            sys::mount(Path::new("none"), &self.path, c"", read_only, c"")?;
        }
        Ok(())
    }
}

/// Returns the topmost parent of a path that others may not enter.
fn closed_parent(path: &Path) -> Option<PathBuf> {
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    let closed =
        |parent: &&&Path| fs::metadata(parent).is_ok_and(|found| found.mode() & SEARCHABLE == 0);
    parents
        .iter()
        .rev()
        .find(closed)
        .map(|found| (*found).to_owned())
}
