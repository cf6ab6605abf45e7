//! Sends and receives probes, a thread at each end.

use std::io::{self, Write};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use link::Direction;

use super::endpoint::Endpoint;
use super::window::in_memory;
use crate::datapath::clock::wall_offset_ns;
use crate::net::stamped;
use crate::probe::{Probe, Probes};
use crate::sys;

/// Runs a series; returns a file in memory with a [`Probe`] for each sent.
pub(super) fn run(endpoints: &[Endpoint; 2], probes: &Probes) -> io::Result<OwnedFd> {
    if probes.count > COUNT_MAX || probes.spacing_ns > SPACING_MAX_NS {
        return Err(io::Error::other("too many probes, or too far apart"));
    }
    let [client, server] = endpoints;
    let (from, to) = match probes.direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let sink = to.netns.run(|| {
        let socket = UdpSocket::bind((to.side.addresses().v4, 0))?;
        stamped::enable(&socket)?;
        Ok(socket)
    })?;
    let port = sink.local_addr()?.port();
    let source = from.netns.run(|| {
        let socket = UdpSocket::bind((from.side.addresses().v4, 0))?;
        socket.connect((to.side.addresses().v4, port))?;
        Ok(socket)
    })?;

    let mut table = vec![
        Probe {
            sent_ns: 0,
            received_ns: None
        };
        probes.count as usize
    ];
    let all_sent = AtomicBool::new(false);
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&sink, probes.count, &all_sent));
        // On a thread of its own: it may take a real-time class, which the calling thread would
        // pass on to every program it starts later.
        let sending = scope.spawn(|| send(&source, probes));
        let sent = sending.join().expect("nothing in the thread panics");
        all_sent.store(true, Ordering::Release);
        (
            sent,
            receiving.join().expect("nothing in the thread panics"),
        )
    });
    for (probe, sent_ns) in table.iter_mut().zip(sent?) {
        probe.sent_ns = sent_ns;
    }
    for (number, received_ns) in received? {
        if let Some(probe) = table.get_mut(number as usize) {
            probe.received_ns = Some(received_ns);
        }
    }
    in_memory("probes", |file| {
        table
            .iter()
            .try_for_each(|probe| file.write_all(&probe.to_bytes()))
    })
}

/// Returns when each was sent.
fn send(socket: &UdpSocket, probes: &Probes) -> io::Result<Vec<u64>> {
    sys::tighten_timer_slack();
    if probes.spacing_ns > 0 {
        // Probes measure the link, so their sender should not wait for a core. Refused when
        // rootless; and never for a flood, which would take the core from everyone.
        let _realtime = sys::make_realtime(0, 1);
    }
    let mut datagram = vec![0; (probes.ip_bytes as usize).saturating_sub(HEADERS).max(4)];
    let mut sent = Vec::with_capacity(probes.count as usize);
    let mut luck = 1u64;
    // A sender that wakes up late catches up, so the rate offered is the rate asked for.
    let mut due_ns = sys::monotonic_ns();
    for number in 0..probes.count {
        if probes.spacing_ns > 0 {
            // Constants of Knuth's MMIX generator; any spread will do.
            luck = luck
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let gap_ns = probes.spacing_ns / 2 + (luck >> 33) % probes.spacing_ns;
            due_ns += gap_ns;
            let left_ns = due_ns.saturating_sub(sys::monotonic_ns());
            if left_ns > 0 {
                std::thread::sleep(Duration::from_nanos(left_ns));
            }
        }
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        sent.push(sys::monotonic_ns());
        while let Err(e) = socket.send(&datagram) {
            if e.raw_os_error() != Some(libc::ENOBUFS) {
                return Err(e);
            }
        }
    }
    Ok(sent)
}

/// Returns the number of each that came, and when.
fn receive(socket: &UdpSocket, count: u32, all_sent: &AtomicBool) -> io::Result<Vec<(u32, u64)>> {
    socket.set_read_timeout(Some(QUIET))?;
    let mut received = Vec::with_capacity(count as usize);
    let mut datagram = [0; 1 << 16];
    let (mut offset_ns, mut looked_ns) = (wall_offset_ns(), sys::monotonic_ns());
    while received.len() < count as usize {
        let (len, stamp) = match stamped::receive(socket, &mut datagram) {
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if all_sent.load(Ordering::Acquire) {
                    break;
                }
                continue;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let now_ns = sys::monotonic_ns();
        if now_ns - looked_ns > OFFSET_AGE_NS {
            (offset_ns, looked_ns) = (wall_offset_ns(), now_ns);
        }
        if let (Some(stamp), Some(number)) = (stamp, datagram[..len].first_chunk()) {
            received.push((
                u32::from_le_bytes(*number),
                stamp.saturating_add_signed(-offset_ns),
            ));
        }
    }
    Ok(received)
}

/// IPv4 and UDP.
const HEADERS: usize = 28;
/// No probe comes any more when all are sent and this long nothing came.
const QUIET: Duration = Duration::from_secs(3);
const SPACING_MAX_NS: u64 = 1_000_000_000;
const COUNT_MAX: u32 = 10_000_000;
const OFFSET_AGE_NS: u64 = 1_000_000_000;
