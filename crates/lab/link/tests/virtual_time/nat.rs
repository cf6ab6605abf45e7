//! Properties of the NAT, checked on random packets in virtual time.

use std::collections::BTreeMap;

use link::{Endpoint, Mapping, NS_PER_MS, NatExpiry, NatSpec, NatTable, Transport};
use proptest::prelude::*;

const MS: u64 = NS_PER_MS;

/// A packet from a client.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at_ns: u64,
    client: Endpoint,
    transport: Transport,
    opens: bool,
}

fn specs() -> impl Strategy<Value = NatSpec> {
    let idle_ns = || prop::option::of(5 * MS..60 * MS);
    let moments = prop::collection::vec(0..2_000 * MS, 0..6);
    (moments, idle_ns(), idle_ns()).prop_map(|(mut rebind_at_ns, udp_idle_ns, tcp_idle_ns)| {
        rebind_at_ns.sort_unstable();
        NatSpec {
            rebind_at_ns,
            udp_idle_ns,
            tcp_idle_ns,
        }
    })
}

/// Generates packets of two hosts, from a few usual ports and a few of those that the NAT gives.
fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let ports = prop_oneof![40_000..40_004_u16, 61_000..61_003_u16];
    let one = (0..30 * MS, 0..2_u64, ports, any::<bool>());
    prop::collection::vec(one, 1..200).prop_map(|list| {
        let mut at_ns = 0;
        let make = |(gap_ns, host, port, opens): (u64, u64, u16, bool)| {
            at_ns += gap_ns;
            Sent {
                at_ns,
                client: Endpoint { host, port },
                transport: [Transport::Udp, Transport::Tcp][host as usize],
                opens,
            }
        };
        list.into_iter().map(make).collect()
    })
}

/// Returns the mapping of each packet, and whether it was new.
fn outbound(spec: &NatSpec, packets: &[Sent]) -> Vec<(Mapping, bool)> {
    let mut table = NatTable::new(NatExpiry::new(spec.clone(), 0));
    let one = |p: &Sent| {
        let passed = table.outbound(p.at_ns, p.client, p.transport, p.opens);
        let passed = passed.expect("there are few ports");
        (passed.mapping, passed.changed)
    };
    packets.iter().map(one).collect()
}

proptest! {
    #[test]
    fn no_two_clients_share_a_port(spec in specs(), packets in packets()) {
        let mut present = BTreeMap::new();
        for (packet, (mapping, _)) in packets.iter().zip(outbound(&spec, &packets)) {
            prop_assert_eq!((mapping.client, mapping.transport), (packet.client, packet.transport));
            present.insert(packet.client, mapping.external());
            let mut ends: Vec<_> = present.values().collect();
            ends.sort_unstable();
            ends.dedup();
            prop_assert_eq!(ends.len(), present.len());
        }
    }

    #[test]
    fn the_last_mapping_of_a_port_leads_back_to_its_client(
        spec in specs(), packets in packets(),
    ) {
        let mut down = BTreeMap::new();
        for (packet, (mapping, changed)) in packets.iter().zip(outbound(&spec, &packets)) {
            if changed {
                down.insert(mapping.external(), mapping);
            }
            prop_assert_eq!(down[&mapping.external()].client, packet.client);
        }
    }

    #[test]
    fn ports_change_only_when_a_mapping_is_over_or_a_connection_opens(
        spec in specs(), packets in packets(),
    ) {
        let expiry = NatExpiry::new(spec.clone(), 0);
        let mut last = BTreeMap::<Endpoint, (u64, u16)>::new();
        for (packet, (mapping, changed)) in packets.iter().zip(outbound(&spec, &packets)) {
            let now = (packet.at_ns, mapping.external_port);
            let Some((used_ns, port)) = last.insert(packet.client, now) else {
                prop_assert!(changed);
                continue;
            };
            let over = expiry.is_over(packet.transport, used_ns, packet.at_ns);
            let moved = port != mapping.external_port;
            prop_assert!(!moved || (changed && (over || packet.opens)));
            prop_assert!(changed || !over);
            // A flow that goes on after its mapping has ended is seen from another port.
            prop_assert!(moved || !over || packet.opens);
        }
    }

    #[test]
    fn connections_open_from_the_clients_own_port(spec in specs(), packets in packets()) {
        for (packet, (mapping, _)) in packets.iter().zip(outbound(&spec, &packets)) {
            if packet.opens && packet.client.port < 61_000 {
                prop_assert_eq!(mapping.external_port, packet.client.port);
            }
        }
    }

    #[test]
    fn the_same_packets_get_the_same_mappings(spec in specs(), packets in packets()) {
        prop_assert_eq!(outbound(&spec, &packets), outbound(&spec, &packets));
    }
}
