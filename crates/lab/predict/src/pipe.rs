//! The link without random loss, jitter and reordering.

use link::{Departure, Direction, Network, Packet, Path, PathSpec, Transport};

use crate::Protocol;

/// An arbitrary client port.
const CLIENT_PORT: u16 = 50_000;
/// The port that policies match QUIC by.
const SERVER_PORT: u16 = 443;

/// Both directions of the link.
pub(crate) struct Pipe {
    up: Path,
    down: Path,
    transport: Transport,
}

/// A packet that has crossed the link.
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    pub(crate) direction: Direction,
    pub(crate) token: u64,
}

impl Pipe {
    pub(crate) fn new(network: &Network, protocol: Protocol) -> Pipe {
        let path = |spec: &PathSpec, direction| {
            let spec = PathSpec {
                loss: None,
                jitter_ns: 0,
                reorder: None,
                ..spec.clone()
            };
            let mut path = Path::new(&spec, direction, 0);
            path.start(0);
            path
        };
        Pipe {
            up: path(&network.up, Direction::Up),
            down: path(&network.down, Direction::Down),
            transport: match protocol {
                Protocol::H2 => Transport::Tcp,
                Protocol::H3 => Transport::Udp,
            },
        }
    }

    pub(crate) fn send(&mut self, now_ns: u64, direction: Direction, token: u64, ip_bytes: u32) {
        let (src_port, dst_port) = match direction {
            Direction::Up => (CLIENT_PORT, SERVER_PORT),
            Direction::Down => (SERVER_PORT, CLIENT_PORT),
        };
        let packet = Packet {
            token,
            ip_bytes,
            transport: self.transport,
            src_port,
            dst_port,
            flow: Some(0),
        };
        self.path(direction).offer(now_ns, packet);
    }

    /// Returns the next time at which a packet may arrive.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let deadlines = [self.up.next_deadline(), self.down.next_deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Takes a packet that has arrived by now.
    pub(crate) fn arrival(&mut self, now_ns: u64) -> Option<Arrival> {
        [Direction::Up, Direction::Down]
            .into_iter()
            .find_map(|direction| {
                loop {
                    match self.path(direction).poll(now_ns)? {
                        Departure::Deliver { at_ns, token } => {
                            return Some(Arrival {
                                at_ns,
                                direction,
                                token,
                            });
                        }
                        Departure::Drop { .. } => {}
                    }
                }
            })
    }

    /// Returns how many packets from server to client were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.down.counters().dropped.total()
    }

    fn path(&mut self, direction: Direction) -> &mut Path {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}
