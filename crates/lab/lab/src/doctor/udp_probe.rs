//! UDP probes from one end of a bench to the other, timestamped at both.
//!
//! The timestamps are an application's own and so include its wake-ups: they measure the link
//! independently of what it reports about itself.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use link::Direction;
use pump::{Bench, BenchError, Side, SocketKind};

use driver::clock::monotonic_ns;

/// Port of the receiver. Any free port will do: nothing else runs at that end.
pub(crate) const PORT: u16 = 4791;
/// How often the receiver looks whether the train is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of IPv4 and UDP headers before a payload.
pub(crate) const HEADER_BYTES: usize = 28;

/// A socket at each end, for one direction.
pub(crate) struct Prober {
    sender: UdpSocket,
    receiver: UdpSocket,
    to: SocketAddr,
}

/// A train of probes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    /// Bytes of UDP payload, at least 16.
    pub(crate) payload_bytes: usize,
    /// Time between two probes.
    pub(crate) spacing_ns: u64,
    /// Number of probes.
    pub(crate) count: u32,
    /// How long to wait for the last probe.
    pub(crate) drain: Duration,
}

/// The probes that arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    /// In order of arrival.
    pub(crate) arrived: Vec<Arrival>,
    /// When each probe was sent, CLOCK_MONOTONIC.
    pub(crate) sent_ns: Vec<u64>,
}

/// One probe that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Number of the probe in its train, from 0.
    pub(crate) index: u32,
    pub(crate) at_ns: u64,
    pub(crate) delay_ns: u64,
}

impl Prober {
    /// Opens a socket at each end.
    pub(crate) fn open(bench: &mut Bench, direction: Direction) -> Result<Prober, BenchError> {
        let (from, to) = match direction {
            Direction::Up => (Side::Client, Side::Server),
            Direction::Down => (Side::Server, Side::Client),
        };
        let (near, far) = (
            SocketAddr::new(from.addresses().v4.into(), 0),
            to.addresses().v4,
        );
        let sender = bench.bind(from, SocketKind::Udp, near)?;
        let to_address = SocketAddr::new(far.into(), PORT);
        let receiver = bench.bind(to, SocketKind::Udp, to_address)?;
        Ok(Prober {
            sender: sender.into(),
            receiver: receiver.into(),
            to: to_address,
        })
    }

    /// Sends a train and returns the probes that arrive.
    pub(crate) fn run(&self, train: &Train) -> io::Result<Arrivals> {
        let receiver = self.receiver.try_clone()?;
        receiver.set_nonblocking(false)?;
        self.sender.set_nonblocking(false)?;
        receiver.set_read_timeout(Some(POLL_INTERVAL))?;
        let (all_sent, done) = mpsc::channel::<()>();
        let receiver = thread::spawn(move || receive(&receiver, &done));
        let sent = self.send(train);
        thread::sleep(train.drain);
        // Dropping the channel's sender ends the receiving thread.
        drop(all_sent);
        let arrived = receiver
            .join()
            .map_err(|_| io::Error::other("the receiver panicked"))??;
        Ok(Arrivals {
            arrived,
            sent_ns: sent?,
        })
    }

    fn send(&self, train: &Train) -> io::Result<Vec<u64>> {
        let mut sent_ns = Vec::with_capacity(train.count as usize);
        let mut payload = vec![0; train.payload_bytes.max(16)];
        let started_ns = monotonic_ns();
        for i in 0..train.count {
            let due_ns = started_ns + u64::from(i) * train.spacing_ns;
            let now_ns = monotonic_ns();
            if due_ns > now_ns {
                thread::sleep(Duration::from_nanos(due_ns - now_ns));
            }
            let now_ns = monotonic_ns();
            // The first byte stays 0: a payload that looks like a QUIC Initial would open a
            // connection with random draws of its own.
            payload[4..8].copy_from_slice(&i.to_le_bytes());
            payload[8..16].copy_from_slice(&now_ns.to_le_bytes());
            self.sender.send_to(&payload, self.to)?;
            sent_ns.push(now_ns);
        }
        Ok(sent_ns)
    }
}

fn receive(receiver: &UdpSocket, done: &mpsc::Receiver<()>) -> io::Result<Vec<Arrival>> {
    let mut arrived = Vec::new();
    let mut payload = vec![0; 2048];
    loop {
        match receiver.recv(&mut payload) {
            Ok(len) if len >= 16 => {
                let at_ns = monotonic_ns();
                let sent_ns = u64::from_le_bytes(std::array::from_fn(|i| payload[8 + i]));
                arrived.push(Arrival {
                    index: u32::from_le_bytes(std::array::from_fn(|i| payload[4 + i])),
                    at_ns,
                    delay_ns: at_ns.saturating_sub(sent_ns),
                });
            }
            Ok(_) => {}
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                if done.try_recv() == Err(mpsc::TryRecvError::Disconnected) {
                    return Ok(arrived);
                }
            }
            Err(e) => return Err(e),
        }
    }
}
