//! The capabilities of a program under test.

use std::io;

use crate::sys::check;

/// CAP_NET_RAW of linux/capability.h.
const NET_RAW: libc::c_int = 13;

/// Drops every capability from the bounding set, from which an exec by root would restore them; with `raw_sockets`,
/// every one but CAP_NET_RAW. Needs CAP_SETPCAP, so it comes before the user changes.
///
/// Everything here is async-signal-safe.
pub(crate) fn drop_bounding_set(raw_sockets: bool) -> io::Result<()> {
    let mut capability = 0;
    loop {
        if !(raw_sockets && capability == NET_RAW) {
            // SAFETY: takes no pointer.
            let dropped = check(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) });
            match dropped {
                // The first number that the kernel does not know.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => return Ok(()),
                other => other?,
            };
        }
        capability += 1;
    }
}

/// Gives up every capability for good; with `raw_sockets`, every one but CAP_NET_RAW, which an exec by any user then
/// keeps.
pub(crate) fn give_up(raw_sockets: bool) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    /// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h.
    const VERSION_3: u32 = 0x2008_0522;
    let ambient = |operation: libc::c_int, capability: libc::c_int| {
        // SAFETY: takes no pointer.
        check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, operation, capability, 0, 0) })
    };
    // SAFETY: takes no pointer.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    ambient(libc::PR_CAP_AMBIENT_CLEAR_ALL, 0)?;
    let kept = if raw_sockets { 1u32 << NET_RAW } else { 0 };
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    // Effective, permitted and inheritable; first the lower 32 of each, then the upper.
    let sets = [kept, kept, kept, 0, 0, 0];
    // SAFETY: `capset` reads a header and two triples of words, which live through the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &header, sets.as_ptr()) } as libc::c_int)?;
    if raw_sockets {
        ambient(libc::PR_CAP_AMBIENT_RAISE, NET_RAW)?;
    }
    Ok(())
}
