//! Probes: numbered UDP datagrams across a bench, stamped by the receiver's kernel.
//!
//! `lab` has a prober of its own. That one stamps in user space and so sees what an application
//! does; this one measures the link alone, for the tests and benches of this crate.

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use link::Direction;
use pump::{Bench, Side, SocketKind};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of an IPv4 and a UDP header.
const HEADERS: usize = 28;
/// Once all probes are sent, how long the receiver waits for the next: above the delay of every
/// network in the tests and benches.
const QUIET: Duration = Duration::from_secs(3);
/// The wall clock may be slewed: its offset is read again this often.
const OFFSET_AGE_NS: u64 = 1_000_000_000;
/// Lowest SCHED_FIFO priority: below the link's threads.
const SENDER_PRIORITY: i32 = 1;

/// A series of probes in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    pub(crate) direction: Direction,
    pub(crate) count: u32,
    /// Mean gap between two probes. Each gap is drawn from 0.5 to 1.5 of it, so that probes do
    /// not synchronise with anything. A late sender catches up. 0 sends at full speed.
    pub(crate) spacing_ns: u64,
    /// IP bytes of each probe, over IPv4.
    pub(crate) ip_bytes: u32,
}

/// One probe. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probe {
    /// Just before the sender handed it to its kernel.
    pub(crate) sent_ns: u64,
    /// When the receiver's kernel took it; `None` when it was lost.
    pub(crate) received_ns: Option<u64>,
}

impl Probe {
    /// Returns the probe's one-way delay, unless it was lost.
    pub(crate) fn delay_ns(&self) -> Option<u64> {
        self.received_ns
            .map(|received_ns| received_ns.saturating_sub(self.sent_ns))
    }
}

/// Sends a series and returns one [`Probe`] per datagram sent, in order.
pub(crate) fn probe(bench: &mut Bench, probes: &Probes) -> io::Result<Vec<Probe>> {
    let (from, to) = match probes.direction {
        Direction::Up => (Side::Client, Side::Server),
        Direction::Down => (Side::Server, Side::Client),
    };
    let mut bind = |side: Side| {
        let any_port = (side.addresses().v4, 0).into();
        let socket = bench.bind(side, SocketKind::Udp, any_port);
        socket.map(UdpSocket::from).map_err(io::Error::other)
    };
    let (sender, receiver) = (bind(from)?, bind(to)?);
    enable_timestamps(&receiver)?;
    sender.connect(receiver.local_addr()?)?;

    let all_sent = AtomicBool::new(false);
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, probes.count, &all_sent));
        // A thread of its own: it may enter a real-time class, which must not outlive the series.
        let sending = scope.spawn(|| send(&sender, probes));
        let sent = sending.join().expect("the sender does not panic");
        all_sent.store(true, Ordering::Release);
        let received = receiving.join().expect("the receiver does not panic");
        (sent, received)
    });
    let mut table = vec![Probe::default(); probes.count as usize];
    for (probe, sent_ns) in table.iter_mut().zip(sent?) {
        probe.sent_ns = sent_ns;
    }
    for (number, received_ns) in received? {
        if let Some(probe) = table.get_mut(number as usize) {
            probe.received_ns = Some(received_ns);
        }
    }
    Ok(table)
}

/// Returns when each probe was sent.
fn send(socket: &UdpSocket, probes: &Probes) -> io::Result<Vec<u64>> {
    // As in the link's threads: sleeps end on time instead of up to 50 us later.
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    if probes.spacing_ns > 0 {
        // A sender that waits for a core would be measured instead of the link. Refused without
        // privileges; and never for a flood, which would keep everything else off the core.
        let _realtime = make_realtime();
    }
    let payload_bytes = (probes.ip_bytes as usize).saturating_sub(HEADERS).max(4);
    let mut datagram = vec![0; payload_bytes];
    let mut sent = Vec::with_capacity(probes.count as usize);
    let mut random = 0;
    let mut due_ns = now_ns(ClockId::Monotonic);
    for number in 0..probes.count {
        if probes.spacing_ns > 0 {
            due_ns += probes.spacing_ns / 2 + splitmix64(&mut random) % probes.spacing_ns;
            let left_ns = due_ns.saturating_sub(now_ns(ClockId::Monotonic));
            if left_ns > 0 {
                std::thread::sleep(Duration::from_nanos(left_ns));
            }
        }
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        sent.push(now_ns(ClockId::Monotonic));
        while let Err(e) = socket.send(&datagram) {
            if e.raw_os_error() != Some(libc::ENOBUFS) {
                return Err(e);
            }
        }
    }
    Ok(sent)
}

/// Returns the number of each probe that arrived, and when it did.
fn receive(socket: &UdpSocket, count: u32, all_sent: &AtomicBool) -> io::Result<Vec<(u32, u64)>> {
    socket.set_read_timeout(Some(QUIET))?;
    let mut received = Vec::with_capacity(count as usize);
    let mut datagram = [0; 1 << 16];
    let (mut offset_ns, mut read_ns) = (wall_offset_ns(), now_ns(ClockId::Monotonic));
    while received.len() < count as usize {
        let (len, stamp_ns) = match receive_stamped(socket, &mut datagram) {
            Ok(datagram) => datagram,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if all_sent.load(Ordering::Acquire) {
                    break;
                }
                continue;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let now_ns = now_ns(ClockId::Monotonic);
        if now_ns - read_ns > OFFSET_AGE_NS {
            (offset_ns, read_ns) = (wall_offset_ns(), now_ns);
        }
        if let (Some(stamp_ns), Some(number)) = (stamp_ns, datagram[..len].first_chunk()) {
            let received_ns = stamp_ns.saturating_add_signed(-offset_ns);
            received.push((u32::from_le_bytes(*number), received_ns));
        }
    }
    Ok(received)
}

/// Returns CLOCK_REALTIME minus CLOCK_MONOTONIC, from the closest of three pairs of readings.
fn wall_offset_ns() -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..3 {
        let before = now_ns(ClockId::Monotonic);
        let wall = now_ns(ClockId::Realtime);
        let after = now_ns(ClockId::Monotonic);
        let middle = before + (after - before) / 2;
        best = best.min((after - before, wall as i64 - middle as i64));
    }
    best.1
}

fn now_ns(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Returns the next number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Puts the calling thread into SCHED_FIFO.
fn make_realtime() -> io::Result<()> {
    let param = libc::sched_param {
        sched_priority: SENDER_PRIORITY,
    };
    // SAFETY: `param` lives through the call.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) } as isize).map(drop)
}

/// Makes the kernel attach its receive time to every datagram (SO_TIMESTAMPNS).
fn enable_timestamps(socket: &UdpSocket) -> io::Result<()> {
    let on = 1i32;
    let len = size_of::<i32>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    let value = (&raw const on).cast();
    // SAFETY: `on` is valid for `len` bytes through the call.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, len) };
    check(set as isize).map(drop)
}

/// Receives one datagram. Returns its length and the kernel's receive time, CLOCK_REALTIME.
fn receive_stamped(socket: &UdpSocket, into: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
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
    let len = check(unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) })?;
    let mut stamp_ns = None;
    // SAFETY: the kernel filled `control`, which is aligned for `cmsghdr`, and set its length;
    // the macros stay within it. The stamp is read unaligned, being plain data.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        if !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_TIMESTAMPNS
        {
            let t: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
            stamp_ns = Some(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64);
        }
    }
    Ok((len as usize, stamp_ns))
}

fn check(returned: isize) -> io::Result<isize> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}
