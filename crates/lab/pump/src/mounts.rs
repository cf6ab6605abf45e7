//! The system calls that mount.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::sys::check;

/// Mounts a file system; `data` holds its own options.
pub(crate) fn mount(
    source: &Path,
    target: &Path,
    kind: &CStr,
    flags: libc::c_ulong,
    data: &CStr,
) -> io::Result<()> {
    let source = c_path(source)?;
    let target = c_path(target)?;
    // SAFETY: all four strings live through the call and end in NUL.
    check(unsafe {
        libc::mount(
            source.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    })
    .map(drop)
}

/// Detaches a mount. Its files that are bind-mounted elsewhere stay.
pub(crate) fn unmount_lazily(target: &Path) -> io::Result<()> {
    let target = c_path(target)?;
    // SAFETY: the string lives through the call and ends in NUL.
    check(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) }).map(drop)
}

/// Makes a mount read-only, or writable again; `recursive`: with all mounts below it. Returns false where Linux lacks the
/// call (before 5.12).
pub(crate) fn set_read_only(target: &Path, read_only: bool, recursive: bool) -> io::Result<bool> {
    /// `struct mount_attr` of linux/mount.h.
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    let target = c_path(target)?;
    let attributes = MountAttr {
        set: if read_only { READ_ONLY } else { 0 },
        clear: if read_only { 0 } else { READ_ONLY },
        propagation: 0,
        user_namespace: 0,
    };
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attributes live through the call, which is given the size of the latter.
    let returned = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            flags,
            &attributes,
            size_of::<MountAttr>(),
        )
    };
    match check(returned as libc::c_int) {
        Ok(_) => Ok(true),
        Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => Ok(false),
        Err(e) => Err(e),
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
