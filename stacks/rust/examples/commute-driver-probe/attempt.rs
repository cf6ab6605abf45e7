//! An attempt at something, what the test has prepared for it, and how system calls end.

use std::io;

/// What the test has prepared.
pub(crate) struct Machine {
    /// A file that everybody can read, in a folder of the user's.
    pub(crate) file: String,
    /// A Unix socket beside it that everybody can connect to.
    pub(crate) socket: String,
    /// An abstract one.
    pub(crate) abstract_name: String,
    /// A TCP port of the machine's loopback.
    pub(crate) address: String,
    /// Whether more shared memory than a process may use can be taken from the machine without harm.
    pub(crate) has_memory: bool,
}

/// An error of the kind `QuotaExceeded` is due to a limit that not every machine has.
pub(crate) type Tried = (String, io::Result<()>);

pub(crate) fn tried(name: &str, result: io::Result<()>) -> Tried {
    (name.to_owned(), result)
}

pub(crate) fn check(returned: libc::c_int) -> io::Result<()> {
    check_long(returned.into())
}

pub(crate) fn check_long(returned: libc::c_long) -> io::Result<()> {
    match returned {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
