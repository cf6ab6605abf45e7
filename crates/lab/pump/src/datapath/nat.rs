//! The NAT of a window, which both directions share without waiting for each other.
//!
//! The up thread makes mappings and sends each to the down thread before it delivers the packet that
//! needed it, as with flow numbers. When a mapping was last used is a number that both can read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use link::{Endpoint, Mapping, NatExpiry, NatSpec, NatTable};

use super::frame::{self, Parsed};
use super::rewrite::{self, End};

/// Mappings made one after another before a packet comes down. The down direction never learns of
/// more, and passes packets to their ports unchanged.
const UNREAD_MAX: usize = 4096;

/// One direction of a NAT.
pub(crate) enum Nat {
    Up(Outside),
    Down(Inside),
}

/// What packets from the client meet.
pub(crate) struct Outside {
    table: NatTable,
    used_ns: BTreeMap<Endpoint, Arc<AtomicU64>>,
    to_down: SyncSender<SharedMapping>,
}

/// What packets to the client meet.
pub(crate) struct Inside {
    expiry: NatExpiry,
    mappings: BTreeMap<Endpoint, SharedMapping>,
    from_up: Receiver<SharedMapping>,
}

#[derive(Clone)]
struct SharedMapping {
    mapping: Mapping,
    /// When the client used it last.
    used_ns: Arc<AtomicU64>,
}

/// What a mapping does to a packet to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inbound {
    pub(crate) client_port: u16,
    /// The NAT has dropped the mapping, and so drops the packet.
    pub(crate) over: bool,
}

/// Creates the NAT of a window that begins at `at_ns`, up first.
pub(crate) fn nat(spec: &NatSpec, at_ns: u64) -> [Nat; 2] {
    let expiry = NatExpiry::new(spec.clone(), at_ns);
    let (to_down, from_up) = sync_channel(UNREAD_MAX);
    [
        Nat::Up(Outside {
            table: NatTable::new(expiry.clone()),
            used_ns: BTreeMap::new(),
            to_down,
        }),
        Nat::Down(Inside {
            expiry,
            mappings: BTreeMap::new(),
            from_up,
        }),
    ]
}

impl Nat {
    /// Looks up the mapping of a packet from the server that arrives at `at_ns`. Names the packet by
    /// the client's own port, as all packets are named inside the link. Returns `None` when there has
    /// never been a mapping, so that the packet passes unchanged.
    pub(crate) fn arrive(
        &mut self,
        at_ns: u64,
        frame: &[u8],
        parsed: &mut Parsed,
    ) -> Option<Inbound> {
        let Nat::Down(inside) = self else { return None };
        let inbound = inside.inbound(at_ns, endpoint(frame, parsed, End::Destination))?;
        parsed.dst_port = inbound.client_port;
        parsed.flow = frame::flow_id(frame, parsed);
        Some(inbound)
    }

    /// Rewrites a packet that leaves the link at `at_ns`: one to the server by its mapping, and one to
    /// the client to the port that [`Nat::arrive`] found.
    pub(crate) fn leave(&mut self, at_ns: u64, frame: &mut [u8], client_port: Option<u16>) {
        let parsed = frame::parse(frame);
        if parsed.transport == link::Transport::Other {
            return;
        }
        let (end, port) = match self {
            Nat::Up(outside) => (End::Source, outside.port(at_ns, frame, &parsed)),
            Nat::Down(_) => (End::Destination, client_port),
        };
        if let Some(port) = port.filter(|&port| port != end.port(&parsed)) {
            rewrite::set_port(frame, &parsed, end, port);
        }
    }
}

impl Outside {
    /// Returns the port from which the server sees a packet; `None` for the client's own.
    fn port(&mut self, at_ns: u64, frame: &[u8], parsed: &Parsed) -> Option<u16> {
        let client = endpoint(frame, parsed, End::Source);
        let opens = parsed.opening.is_some();
        let found = self
            .table
            .outbound(at_ns, client, parsed.transport, opens)?;
        let external = found.mapping.external();
        if found.changed {
            let shared = SharedMapping {
                mapping: found.mapping,
                used_ns: Arc::new(AtomicU64::new(at_ns)),
            };
            self.used_ns.insert(external, Arc::clone(&shared.used_ns));
            // Fails when too many are unread, or when the other thread has ended.
            let _sent = self.to_down.try_send(shared);
        } else if let Some(used_ns) = self.used_ns.get(&external) {
            used_ns.store(at_ns, Ordering::Relaxed);
        }
        Some(found.mapping.external_port)
    }
}

impl Inside {
    fn inbound(&mut self, at_ns: u64, external: Endpoint) -> Option<Inbound> {
        while let Ok(shared) = self.from_up.try_recv() {
            self.mappings.insert(shared.mapping.external(), shared);
        }
        let SharedMapping { mapping, used_ns } = self.mappings.get(&external)?;
        let used_ns = used_ns.load(Ordering::Relaxed);
        Some(Inbound {
            client_port: mapping.client.port,
            over: self.expiry.is_over(mapping.transport, used_ns, at_ns),
        })
    }
}

fn endpoint(frame: &[u8], parsed: &Parsed, end: End) -> Endpoint {
    Endpoint {
        host: rewrite::host(frame, parsed, end),
        port: end.port(parsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const CLIENT: u16 = 40_000;
    const SERVER: u16 = 443;

    /// Returns a UDP packet between 10.0.0.1, the client, and 10.0.0.2.
    fn udp(from_client: bool, ports: [u16; 2]) -> Vec<u8> {
        let (source, destination) = if from_client { (1, 2) } else { (2, 1) };
        let mut frame = vec![0u8; 12];
        frame.extend([0x08, 0x00, 0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, source, 10, 0, 0, destination]);
        frame.extend(ports.map(u16::to_be_bytes).concat());
        frame.extend([0, 9, 0, 0, 0x43]);
        frame
    }

    /// Returns the source port after the NAT.
    fn up(nat: &mut Nat, at_ms: u64) -> u16 {
        let mut frame = udp(true, [CLIENT, SERVER]);
        nat.leave(at_ms * MS, &mut frame, None);
        frame::parse(&frame).src_port
    }

    /// Returns what the NAT does to a packet to this port, which is then named by the client's.
    fn down(nat: &mut Nat, at_ms: u64, port: u16) -> Option<Inbound> {
        let mut frame = udp(false, [SERVER, port]);
        let mut parsed = frame::parse(&frame);
        let inbound = nat.arrive(at_ms * MS, &frame, &mut parsed)?;
        let own = frame::parse(&udp(true, [CLIENT, SERVER]));
        assert_eq!((parsed.dst_port, parsed.flow), (CLIENT, own.flow));
        nat.leave(at_ms * MS, &mut frame, Some(inbound.client_port));
        assert_eq!(frame::parse(&frame).dst_port, CLIENT);
        Some(inbound)
    }

    const PASSES: Option<Inbound> = Some(Inbound {
        client_port: CLIENT,
        over: false,
    });
    const DROPPED: Option<Inbound> = Some(Inbound {
        client_port: CLIENT,
        over: true,
    });

    #[test]
    fn a_rebinding_moves_the_flow_and_drops_packets_to_its_former_port() {
        let spec = NatSpec {
            rebind_at_ns: vec![10 * MS],
            ..NatSpec::default()
        };
        let [mut outside, mut inside] = nat(&spec, 0);
        assert_eq!(down(&mut inside, 0, CLIENT), None);
        assert_eq!(up(&mut outside, 1), CLIENT);
        assert_eq!(down(&mut inside, 9, CLIENT), PASSES);
        assert_eq!(down(&mut inside, 10, CLIENT), DROPPED);
        let rebound = up(&mut outside, 11);
        assert_ne!(rebound, CLIENT);
        assert_eq!(down(&mut inside, 12, rebound), PASSES);
        assert_eq!(down(&mut inside, 12, CLIENT), DROPPED);
    }

    #[test]
    fn only_packets_from_the_client_keep_a_mapping_alive() {
        let spec = NatSpec {
            udp_idle_ns: Some(10 * MS),
            ..NatSpec::default()
        };
        let [mut outside, mut inside] = nat(&spec, 0);
        assert_eq!(up(&mut outside, 0), CLIENT);
        assert_eq!(up(&mut outside, 9), CLIENT);
        assert_eq!(down(&mut inside, 18, CLIENT), PASSES);
        assert_eq!(down(&mut inside, 19, CLIENT), DROPPED);
        assert_ne!(up(&mut outside, 19), CLIENT);
    }

    #[test]
    fn frames_that_are_neither_tcp_nor_udp_pass_unchanged() {
        let spec = NatSpec {
            rebind_at_ns: vec![0],
            ..NatSpec::default()
        };
        let [mut outside, _] = nat(&spec, 0);
        let mut arp = vec![0u8; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        let before = arp.clone();
        outside.leave(MS, &mut arp, None);
        assert_eq!(arp, before);
    }
}
