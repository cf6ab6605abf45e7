//! A UDP socket that tells when the kernel received a datagram (SO_TIMESTAMPNS).

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::sys::check;

/// Asks for a stamp on every datagram.
pub(crate) fn enable(socket: &UdpSocket) -> io::Result<()> {
    let on = 1i32;
    let len = size_of::<i32>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    // SAFETY: `on` is valid for `len` bytes through the call.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            len,
        )
    })
    .map(drop)
}

/// Receives one datagram: its length and the kernel's stamp, CLOCK_REALTIME.
pub(crate) fn receive(socket: &UdpSocket, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut vector = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let mut control = [0u64; 8];
    // SAFETY: `msghdr` is plain data for which zeros are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: all that `message` points to lives through the call and has the stated size.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) };
    if len < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut stamp = None;
    // SAFETY: the kernel filled `control`, which is aligned for `cmsghdr`, and set its length;
    // the macros stay within it. The stamp is read unaligned, being plain data.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_TIMESTAMPNS
        {
            let t: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
            stamp = Some(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64);
        }
    }
    Ok((len as usize, stamp))
}
