//! The namespaces of a sandbox: file systems and IPC.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::namespaces::RESOLVER_FILES;
use crate::confinement::Sandbox;
use crate::{mounts, sys};

/// Folders at the top level that hold programs or belong to the kernel. They stay as they are, read-only.
const SYSTEM: [&str; 14] = [
    "bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "sbin", "snap",
    "sys", "usr",
];
/// Folders of which programs get their own, with these permissions.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
const PRIVATE_MODE: u32 = 0o1777;
/// The devices that programs get. There are no terminals among them.
const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];
/// Links beside the devices.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// Runtimes read the limits of their cgroup.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Others may enter the folder.
const SEARCHABLE: u32 = 0o001;
/// Linux follows no more links than this (path_resolution(7)).
const MAX_LINKS: usize = 40;
/// Most files and folders in the private ones. Each takes about 1 kB of the kernel's memory.
const MAX_FILES: u32 = 100_000;

/// The namespaces of a sandbox. They exist as long as this object and the programs in them.
#[derive(Debug)]
pub(super) struct Namespaces {
    mounts: OwnedFd,
    ipc: OwnedFd,
}

impl Namespaces {
    /// Makes the namespaces, from those of this process. `visible` and `hidden` are those of [`crate::BenchOptions`].
    pub(super) fn new(
        sandbox: &Sandbox,
        visible: &[PathBuf],
        hidden: &[PathBuf],
    ) -> io::Result<Namespaces> {
        let make = || {
            enter(sandbox, visible, hidden)?;
            let open = |name: &str| fs::File::open(format!("/proc/thread-self/ns/{name}"));
            Ok(Namespaces {
                mounts: open("mnt")?.into(),
                ipc: open("ipc")?.into(),
            })
        };
        // Namespaces are made by entering them, which this thread must not.
        std::thread::scope(|scope| {
            let made = scope.spawn(make).join();
            made.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    }

    pub(super) fn try_clone(&self) -> io::Result<Namespaces> {
        Ok(Namespaces {
            mounts: self.mounts.try_clone()?,
            ipc: self.ipc.try_clone()?,
        })
    }

    /// Moves the calling process into the namespaces. Makes only system calls, as a forked child must.
    pub(super) fn enter(&self) -> io::Result<()> {
        sys::enter_ipc(self.ipc.as_fd())?;
        sys::enter_mounts(self.mounts.as_fd())
    }
}

/// Moves the calling thread into new namespaces and mounts the sandbox's file systems there.
pub(crate) fn enter(sandbox: &Sandbox, visible: &[PathBuf], hidden: &[PathBuf]) -> io::Result<()> {
    sys::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC)?;
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mounts::mount(Path::new("none"), Path::new("/"), c"", private, c"")?;
    // Only this thread's, since its file system is its own now. Others must be able to enter the folders made here.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));

    let listed = [visible, &sandbox.readable, &sandbox.writable].concat();
    let roots = roots(sandbox, &listed, hidden)?;
    let mut bound = Vec::new();
    for path in listed.iter().filter(|path| !holds_private(path)) {
        bound.extend(Bound::all(path, &roots, sandbox.writable.contains(path))?);
    }
    for file in RESOLVER_FILES.map(Path::new) {
        bound.extend(Bound::all(file, &roots, false)?);
    }
    let mut devices = Vec::new();
    for device in DEVICES.map(Path::new) {
        devices.extend(Bound::all(device, &roots, false)?);
    }
    hide_network_devices()?;
    hide(&roots, sandbox.max_file_bytes)?;
    for dir in PRIVATE.map(Path::new) {
        make_private(dir, &roots)?;
    }
    for device in &devices {
        device.mount()?;
    }
    for (link, target) in DEVICE_LINKS {
        symlink(target, link)?;
    }
    // What links lead to before the links, and a folder before those in it.
    bound.sort_by(|a, b| (a.links, &a.path).cmp(&(b.links, &b.path)));
    let mut mounted = Vec::new();
    for bound in bound {
        if bound.mount()? {
            mounted.push(bound);
        }
    }
    if let Some(home) = &sandbox.home {
        fs::create_dir_all(home)?;
        fs::set_permissions(home, Permissions::from_mode(0o700))?;
        chown(home, sandbox.user, sandbox.user)?;
    }
    make_read_only(&roots, &mounted)
}

/// Returns the folders to hide, none of which is in another.
fn roots(sandbox: &Sandbox, listed: &[PathBuf], hidden: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut roots = Vec::new();
    for entry in fs::read_dir("/")? {
        let entry = entry?;
        let is_system = SYSTEM.iter().any(|name| entry.file_name() == *name);
        if entry.file_type()?.is_dir() && !is_system {
            roots.push(entry.path());
        }
    }
    let named = PRIVATE.iter().map(Path::new);
    let named = named.chain(hidden.iter().map(PathBuf::as_path));
    roots.extend(named.filter_map(|dir| dir.canonicalize().ok()));
    if sandbox.user.is_some() {
        roots.extend(listed.iter().filter_map(|path| closed_parent(path)));
    }
    roots.retain(|root| root.is_dir() && root != Path::new("/"));
    roots.sort();
    roots.dedup();
    let is_inner = |root: &Path| {
        let mut others = roots.iter().filter(|other| *other != root);
        others.any(|other| root.starts_with(other))
    };
    Ok(roots.iter().filter(|r| !is_inner(r)).cloned().collect())
}

/// Reports whether a folder is or contains one of which programs get their own: the machine's must stay hidden.
fn holds_private(path: &Path) -> bool {
    let mut dirs = PRIVATE.iter().filter_map(|dir| fs::canonicalize(dir).ok());
    fs::canonicalize(path).is_ok_and(|path| dirs.any(|dir| dir.starts_with(&path)))
}

/// Mounts an empty folder over each of these, all in one file system, which is so limited as a whole.
fn hide(roots: &[PathBuf], max_bytes: u64) -> io::Result<()> {
    let Some((stage, others)) = roots.split_first() else {
        return Ok(());
    };
    let options = format!("mode=755,size={max_bytes},nr_inodes={MAX_FILES}");
    let options = std::ffi::CString::new(options)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mounts::mount(Path::new("sandbox"), stage, c"tmpfs", flags, &options)?;
    let mount = |(number, root): (usize, &PathBuf)| {
        let dir = stage.join(number.to_string());
        fs::create_dir(&dir)?;
        mounts::mount(&dir, root, c"", libc::MS_BIND, c"")
    };
    others.iter().enumerate().try_for_each(mount)?;
    // Last, as it hides the others' folders.
    mount((others.len(), stage))
}

/// Mounts a `/sys` without the machine's network devices: it has those of this network namespace. Does nothing where
/// Linux refuses it, as without privileges in a container that masks parts of `/sys`.
fn hide_network_devices() -> io::Result<()> {
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
    let cgroups = rustix::fs::open(CGROUPS, flags, rustix::fs::Mode::empty());
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
    let mounted = mounts::mount(Path::new("sysfs"), Path::new("/sys"), c"sysfs", flags, c"");
    let (Ok(()), Ok(cgroups)) = (mounted, cgroups) else {
        return Ok(());
    };
    bind(&cgroups, Path::new(CGROUPS))
}

/// Makes a private folder, unless the machine has none of this name.
fn make_private(dir: &Path, roots: &[PathBuf]) -> io::Result<()> {
    // It may be a link to another.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    if !roots.iter().any(|root| dir.starts_with(root)) {
        return Ok(());
    }
    fs::create_dir_all(&dir)?;
    fs::set_permissions(&dir, Permissions::from_mode(PRIVATE_MODE))
}

/// Makes every mount read-only but those that the programs may write to.
fn make_read_only(roots: &[PathBuf], bound: &[Bound]) -> io::Result<()> {
    if !mounts::set_read_only(Path::new("/"), true, true)? {
        return bound
            .iter()
            .filter(|bound| !bound.writable)
            .try_for_each(Bound::make_read_only);
    }
    let writable = bound.iter().filter(|bound| bound.writable);
    let writable = writable.map(|bound| bound.path.as_path());
    let roots = roots.iter().map(PathBuf::as_path);
    for path in roots.chain(writable).chain([Path::new("/proc")]) {
        mounts::set_read_only(path, false, false)?;
    }
    Ok(())
}

/// A file or folder to be mounted where it was.
struct Bound {
    path: PathBuf,
    /// How many links lead from the path to the file.
    links: usize,
    is_dir: bool,
    handle: OwnedFd,
    writable: bool,
}

impl Bound {
    /// Opens a path that is about to be hidden, by its own name, by that without links and by those of the links on the
    /// way. One that stays visible needs no mount, unless it is to be writable.
    fn all(path: &Path, roots: &[PathBuf], writable: bool) -> io::Result<Vec<Bound>> {
        let Ok(real) = path.canonicalize() else {
            return Ok(Vec::new());
        };
        let is_hidden = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        let mut names = names(path, &real);
        names.retain(|(_, name)| is_hidden(name) || writable && *name == real);
        let open = |(links, name): (usize, PathBuf)| {
            let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
            Ok(Bound {
                is_dir: real.is_dir(),
                handle: rustix::fs::open(&real, flags, rustix::fs::Mode::empty())?,
                path: name,
                links,
                writable,
            })
        };
        names.into_iter().map(open).collect()
    }

    /// Mounts it, and reports whether that was necessary: a link may lead to it already.
    fn mount(&self) -> io::Result<bool> {
        if self.links > 0 && self.is_there() {
            return Ok(false);
        }
        // One within another that is bound already may be there.
        if self.is_dir {
            fs::create_dir_all(&self.path)?;
        } else if !self.path.exists() {
            fs::create_dir_all(self.path.parent().unwrap_or(Path::new("/")))?;
            fs::File::create(&self.path)?;
        }
        bind(&self.handle, &self.path)?;
        Ok(true)
    }

    /// Reports whether the path leads to the file already: a link that is in a bound folder.
    fn is_there(&self) -> bool {
        let found = fs::metadata(&self.path).map(|found| (found.dev(), found.ino()));
        let wanted = rustix::fs::fstat(&self.handle).map(|wanted| (wanted.st_dev, wanted.st_ino));
        matches!((found, wanted), (Ok(found), Ok(wanted)) if found == wanted)
    }

    /// Makes the mount read-only without the newer system call.
    fn make_read_only(&self) -> io::Result<()> {
        let read_only = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
        mounts::mount(Path::new("none"), &self.path, c"", read_only, c"")
    }
}

/// Mounts an open file or folder, with the mounts in it, at a path.
fn bind(handle: &OwnedFd, path: &Path) -> io::Result<()> {
    let source = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
    let flags = libc::MS_BIND | libc::MS_REC;
    mounts::mount(&source, path, c"", flags, c"")
}

/// Returns the names of a file: that without links, the path itself and those of the links on the way. With each comes
/// how many links lead from it to the first.
fn names(path: &Path, real: &Path) -> Vec<(usize, PathBuf)> {
    let mut names = Vec::new();
    let mut name = path.to_owned();
    // Somebody may change a link meanwhile. A folder may be a link too: then no name is the real one.
    while name != real && names.len() < MAX_LINKS {
        let target = fs::read_link(&name);
        names.push(name.clone());
        let (Ok(target), Some(dir)) = (target, name.parent()) else {
            break;
        };
        let next = dir.join(target);
        // Without `..` and links of folders, since names of hidden files are found by how they begin.
        name = match (next.parent().map(Path::canonicalize), next.file_name()) {
            (Some(Ok(dir)), Some(file)) => dir.join(file),
            _ => break,
        };
    }
    names.push(real.to_owned());
    names.into_iter().rev().enumerate().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/security.md");

    #[test]
    fn page_lists_the_visible_folders() {
        let page = fs::read_to_string(PAGE).unwrap();
        let (_, list) = page
            .split_once("Folders of programs are visible: ")
            .unwrap();
        let (list, _) = list.split_once('.').unwrap();
        let listed: Vec<&str> = list
            .split(',')
            .map(|name| name.trim().trim_matches('`'))
            .collect();
        let of_kernel = ["proc", "sys"];
        let folders = SYSTEM.iter().filter(|name| !of_kernel.contains(name));
        let folders: Vec<String> = folders.map(|name| format!("/{name}")).collect();
        assert_eq!(listed, folders);
    }
}
