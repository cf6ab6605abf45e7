//! Packet sockets: shared options, and the sending socket. [`super::ring`] is the receiving one.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::slab::Slab;
use crate::sys::check;

/// Frames per system call. At full load the loop takes this many per reading of the clock.
pub(crate) const BATCH: usize = 64;

/// Opens a packet socket. It receives nothing until it is bound to a protocol.
pub(crate) fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointer.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new and owned by nothing else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets a `SOL_PACKET` option.
pub(crate) fn set_option<T>(
    socket: BorrowedFd<'_>,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    let at = (value as *const T).cast();
    // SAFETY: `value` is valid for `len` bytes through the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, at, len) })
        .map(drop)
}

/// Binds to an interface; `protocol` 0 receives nothing.
pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32, protocol: libc::c_int) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain data for which zeros are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as i32;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is a whole `sockaddr_ll` and lives through the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Puts an interface into promiscuous mode for as long as the returned socket lives.
pub(crate) fn promiscuous(index: u32) -> io::Result<OwnedFd> {
    let socket = open()?;
    let membership = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket.as_fd(), libc::PACKET_ADD_MEMBERSHIP, &membership)?;
    Ok(socket)
}

/// Returns the frames dropped because the socket's ring was full, since the last call.
pub(crate) fn take_drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut stats = libc::tpacket_stats {
        tp_packets: 0,
        tp_drops: 0,
    };
    let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let at = (&raw mut stats).cast();
    // SAFETY: `stats` is valid for `len` bytes through the call.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            at,
            &mut len,
        )
    })?;
    Ok(stats.tp_drops)
}

/// Sends whole frames out of one interface.
pub(crate) struct Sender {
    socket: OwnedFd,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
}

// SAFETY: the pointers in `headers` and `vectors` are written before every call and never
// followed outside it, so the arrays are plain memory that may move between threads.
unsafe impl Send for Sender {}

/// The result of sending a batch.
pub(crate) enum SendOutcome {
    /// This many frames were sent, from the start of the batch; at least one.
    Sent(usize),
    /// None was sent: the interface's queue is full.
    Busy,
    /// The first frame can never be sent.
    Rejected,
}

impl Sender {
    pub(crate) fn new(index: u32) -> io::Result<Sender> {
        let socket = open()?;
        set_option(socket.as_fd(), libc::PACKET_QDISC_BYPASS, &1i32)?;
        bind(socket.as_fd(), index, 0)?;
        // SAFETY: both are plain C data for which zeros are valid.
        let (header, vector) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Ok(Sender {
            socket,
            headers: vec![header; BATCH].into(),
            vectors: vec![vector; BATCH].into(),
        })
    }

    /// Sends frames of the slab in order, as many as one system call takes.
    pub(crate) fn send(&mut self, slab: &Slab, tokens: impl Iterator<Item = u64>) -> SendOutcome {
        let mut n = 0;
        for token in tokens.take(BATCH) {
            let bytes = slab.bytes(token);
            self.vectors[n] = libc::iovec {
                iov_base: bytes.as_ptr().cast_mut().cast(),
                iov_len: bytes.len(),
            };
            self.headers[n].msg_hdr.msg_iov = &raw mut self.vectors[n];
            self.headers[n].msg_hdr.msg_iovlen = 1;
            n += 1;
        }
        // SAFETY: the first `n` headers point to vectors of this object, those to frames that
        // the borrow of `slab` keeps in place; sending only reads them.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                n as u32,
                0,
            )
        };
        match check(sent) {
            Ok(sent) => SendOutcome::Sent(sent as usize),
            Err(e) => match e.raw_os_error() {
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR | libc::ENOMEM) => {
                    SendOutcome::Busy
                }
                _ => SendOutcome::Rejected,
            },
        }
    }
}
