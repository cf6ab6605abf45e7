//! A carrier's NAT that drops mappings: the server then sees the same flow from another port.
//!
//! The NAT stands between the link and the server. A packet from the client meets it when it leaves the up direction,
//! one from the server before it enters the down direction. A mapping belongs to a port of the client, whatever the
//! destination (RFC 4787 section 4.1). Only packets from the client keep it alive (section 4.3, REQ-6).
//!
//! The first mapping of a port has the same number outside, and so has every connection when it
//! opens: servers know a connection by that number, and logs go on to agree with the client. Every
//! later mapping has a number that clients do not use by themselves.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use config::{ConfigError, Ms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    model::Transport,
    table::{LENGTH_MS, MOMENT_MS, Table, ns},
    text::ms,
};

/// Ports of rebound flows: above those that Linux gives to clients (net.ipv4.ip_local_port_range).
const REBOUND_PORTS: RangeInclusive<u16> = 61_000..=65_535;
/// Ports of clients that have mappings; packets from further ones pass unchanged. As with flows, the
/// limit only keeps a port scan from using up memory.
const MAX_MAPPINGS: usize = 1 << 16;

/// When a NAT drops mappings. At least one of its fields is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatSpec {
    /// Times after the origin at which all mappings are dropped, in ns, ascending.
    pub rebind_at_ns: Vec<u64>,
    /// Time without a packet from the client after which a mapping for UDP is dropped, in ns.
    pub udp_idle_ns: Option<u64>,
    /// The same for TCP.
    pub tcp_idle_ns: Option<u64>,
}

impl NatSpec {
    /// Returns what the NAT does, for the one-line summary of a network.
    pub(crate) fn summary(&self) -> String {
        let moments: Vec<String> = self.rebind_at_ns.iter().map(|&at_ns| ms(at_ns)).collect();
        let idle = |name: &str, idle_ns: Option<u64>| {
            idle_ns.map(|ns| format!("idle {name} after {} ms", ms(ns)))
        };
        let rebinds = (!moments.is_empty()).then(|| format!("all at {} ms", moments.join(", ")));
        let parts = [
            rebinds,
            idle("UDP", self.udp_idle_ns),
            idle("TCP", self.tcp_idle_ns),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("NAT drops {}", parts.join(", "))
    }
}

/// `[nat]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    /// Drops all mappings at these times after the start of the first step, each in ms or as text.
    rebind_at_ms: Option<Vec<Ms>>,
    /// Drops a mapping for UDP after this long without a packet from the client.
    udp_idle_ms: Option<Ms>,
    /// The same for TCP.
    tcp_idle_ms: Option<Ms>,
}

impl Keys {
    pub(crate) fn read(self, table: &Table<'_>) -> Result<NatSpec, ConfigError> {
        let mut rebind_at_ns = Vec::new();
        for at_ms in self.rebind_at_ms.unwrap_or_default() {
            rebind_at_ns.extend(
                table
                    .within("rebind_at_ms", Some(at_ms), &MOMENT_MS)?
                    .map(ns),
            );
        }
        rebind_at_ns.sort_unstable();
        let idle = |key, value| Ok(table.within(key, value, &LENGTH_MS)?.map(ns));
        let spec = NatSpec {
            rebind_at_ns,
            udp_idle_ns: idle("udp_idle_ms", self.udp_idle_ms)?,
            tcp_idle_ns: idle("tcp_idle_ms", self.tcp_idle_ms)?,
        };
        if spec == NatSpec::default() {
            let message = "the NAT drops nothing; write rebind_at_ms, udp_idle_ms or tcp_idle_ms";
            return Err(table.table_error("", message));
        }
        Ok(spec)
    }
}

/// The rule by which mappings end.
#[derive(Clone, Debug)]
pub struct NatExpiry {
    spec: NatSpec,
    origin_ns: u64,
}

impl NatExpiry {
    /// Returns the rule of a NAT in a window that began at `origin_ns`.
    pub fn new(spec: NatSpec, origin_ns: u64) -> NatExpiry {
        NatExpiry { spec, origin_ns }
    }

    /// Returns whether a mapping that the client last used at `used_ns` has been dropped by `now_ns`.
    pub fn is_over(&self, transport: Transport, used_ns: u64, now_ns: u64) -> bool {
        let idle_ns = match transport {
            Transport::Udp => self.spec.udp_idle_ns,
            Transport::Tcp => self.spec.tcp_idle_ns,
            Transport::Other => None,
        };
        let moments = &self.spec.rebind_at_ns;
        let rebindings = |until_ns: u64| {
            moments.partition_point(|&at_ns| self.origin_ns.saturating_add(at_ns) <= until_ns)
        };
        rebindings(used_ns) < rebindings(now_ns)
            || idle_ns.is_some_and(|idle_ns| now_ns.saturating_sub(used_ns) >= idle_ns)
    }
}

/// A port at an address, inside or outside of the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// A number that the caller makes of the client's address and the transport. The NAT changes
    /// neither of them.
    pub host: u64,
    /// The port.
    pub port: u16,
}

/// A mapping of a client's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What the client sends from.
    pub client: Endpoint,
    /// The port that the server sees.
    pub external_port: u16,
    /// TCP or UDP.
    pub transport: Transport,
}

impl Mapping {
    /// Returns where the server sends to.
    pub fn external(&self) -> Endpoint {
        Endpoint {
            host: self.client.host,
            port: self.external_port,
        }
    }
}

/// The mappings that a NAT makes for packets from clients.
///
/// At any moment each port of a client has one port outside, and no two clients' ports have the same.
#[derive(Debug)]
pub struct NatTable {
    expiry: NatExpiry,
    mappings: BTreeMap<Endpoint, UsedMapping>,
    /// The outer ends of `mappings`.
    external: BTreeSet<Endpoint>,
    next_port: u16,
}

#[derive(Debug)]
struct UsedMapping {
    mapping: Mapping,
    used_ns: u64,
}

/// How a packet passes the NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// The mapping by which it passes.
    pub mapping: Mapping,
    /// The packet made the mapping: the other direction does not know it yet.
    pub changed: bool,
}

impl NatTable {
    /// Returns a NAT without mappings.
    pub fn new(expiry: NatExpiry) -> NatTable {
        NatTable {
            expiry,
            mappings: BTreeMap::new(),
            external: BTreeSet::new(),
            next_port: *REBOUND_PORTS.start(),
        }
    }

    /// Returns the mapping by which a packet passes that reaches the NAT at `now_ns`; `None` when there
    /// is no room or port for one, so that the packet passes unchanged. `opens` says that it opens a
    /// connection.
    pub fn outbound(
        &mut self,
        now_ns: u64,
        client: Endpoint,
        transport: Transport,
        opens: bool,
    ) -> Option<Outbound> {
        let mut keeps_port = true;
        if let Some(UsedMapping { mapping, used_ns }) = self.mappings.get_mut(&client) {
            let over = self.expiry.is_over(transport, *used_ns, now_ns);
            let goes_home =
                opens && mapping.external_port != client.port && !self.external.contains(&client);
            if !over && !goes_home {
                *used_ns = now_ns.max(*used_ns);
                let mapping = *mapping;
                return Some(Outbound {
                    mapping,
                    changed: false,
                });
            }
            keeps_port = opens;
        } else if self.mappings.len() >= MAX_MAPPINGS {
            return None;
        }
        let mapping = Mapping {
            client,
            external_port: self.port_for(client, keeps_port)?,
            transport,
        };
        self.external.insert(mapping.external());
        let used = UsedMapping {
            mapping,
            used_ns: now_ns,
        };
        if let Some(former) = self.mappings.insert(client, used)
            && former.mapping.external_port != mapping.external_port
        {
            self.external.remove(&former.mapping.external());
        }
        Some(Outbound {
            mapping,
            changed: true,
        })
    }

    /// Returns the client's own port, if it may keep it, or the next free one of [`REBOUND_PORTS`];
    /// `None` when all are taken.
    fn port_for(&mut self, client: Endpoint, keeps_port: bool) -> Option<u16> {
        let own = self
            .mappings
            .get(&client)
            .map(|used| used.mapping.external_port);
        if keeps_port && (own == Some(client.port) || !self.external.contains(&client)) {
            return Some(client.port);
        }
        for _ in REBOUND_PORTS {
            let port = self.next_port;
            let (first, last) = REBOUND_PORTS.into_inner();
            self.next_port = if port == last { first } else { port + 1 };
            if !self.external.contains(&Endpoint { port, ..client }) && port != client.port {
                return Some(port);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const OPENS: bool = true;
    const GOES_ON: bool = false;

    fn endpoint(port: u16) -> Endpoint {
        Endpoint { host: 7, port }
    }

    fn expiry() -> NatExpiry {
        let spec = NatSpec {
            rebind_at_ns: vec![10 * MS, 20 * MS],
            udp_idle_ns: Some(5 * MS),
            tcp_idle_ns: None,
        };
        NatExpiry::new(spec, 100 * MS)
    }

    fn table() -> NatTable {
        NatTable::new(expiry())
    }

    /// Returns the port that the server sees and whether it is new, at `at_ms` after the origin.
    fn tcp(table: &mut NatTable, at_ms: u64, port: u16, opens: bool) -> (u16, bool) {
        let at_ns = (100 + at_ms) * MS;
        let found = table.outbound(at_ns, endpoint(port), Transport::Tcp, opens);
        let found = found.unwrap();
        (found.mapping.external_port, found.changed)
    }

    #[test]
    fn mappings_end_at_a_rebinding_and_when_idle() {
        let over = |transport, used_ms: u64, now_ms: u64| {
            expiry().is_over(transport, (100 + used_ms) * MS, (100 + now_ms) * MS)
        };
        assert!(!over(Transport::Tcp, 0, 9) && over(Transport::Tcp, 9, 10));
        assert!(!over(Transport::Tcp, 10, 19) && over(Transport::Tcp, 10, 20));
        assert!(over(Transport::Tcp, 0, 500) && !over(Transport::Tcp, 20, 500));
        assert!(!over(Transport::Udp, 0, 4) && over(Transport::Udp, 0, 5));
        // The other thread may be ahead by a packet.
        assert!(!over(Transport::Udp, 8, 7));
    }

    #[test]
    fn a_rebound_flow_gets_a_port_and_keeps_it_until_the_next_rebinding() {
        let mut table = table();
        assert_eq!(tcp(&mut table, 0, 40_000, OPENS), (40_000, true));
        assert_eq!(tcp(&mut table, 9, 40_000, GOES_ON), (40_000, false));
        assert_eq!(tcp(&mut table, 10, 40_000, GOES_ON), (61_000, true));
        assert_eq!(tcp(&mut table, 19, 40_000, GOES_ON), (61_000, false));
        assert_eq!(tcp(&mut table, 30, 40_000, GOES_ON), (61_001, true));
    }

    #[test]
    fn flows_that_open_later_keep_their_port() {
        let mut table = table();
        assert_eq!(tcp(&mut table, 11, 40_001, OPENS), (40_001, true));
        assert_eq!(tcp(&mut table, 12, 40_001, GOES_ON), (40_001, false));
        // Also from a port that was rebound, and when the packet is retransmitted.
        assert_eq!(tcp(&mut table, 20, 40_001, GOES_ON), (61_000, true));
        assert_eq!(tcp(&mut table, 21, 40_001, OPENS), (40_001, true));
        assert_eq!(tcp(&mut table, 22, 40_001, OPENS), (40_001, false));
        assert_eq!(tcp(&mut table, 23, 40_001, GOES_ON), (40_001, false));
    }

    #[test]
    fn a_port_that_a_rebound_flow_has_is_not_given_twice() {
        let mut table = table();
        tcp(&mut table, 0, 40_000, OPENS);
        assert_eq!(tcp(&mut table, 10, 40_000, GOES_ON), (61_000, true));
        assert_eq!(tcp(&mut table, 11, 61_000, OPENS), (61_001, true));
        assert_eq!(tcp(&mut table, 11, 61_000, OPENS), (61_001, false));
        assert_eq!(tcp(&mut table, 12, 61_002, OPENS), (61_002, true));
        assert_eq!(tcp(&mut table, 13, 61_003, GOES_ON), (61_003, true));
    }

    #[test]
    fn a_full_table_passes_further_packets_unchanged() {
        let mut table = table();
        let mut outbound =
            |host, port| table.outbound(0, Endpoint { host, port }, Transport::Udp, GOES_ON);
        assert!((0..=u16::MAX).all(|port| outbound(1, port).is_some()));
        assert_eq!(outbound(2, 1), None);
        assert!(outbound(1, 1).is_some());
    }
}
