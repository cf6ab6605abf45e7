//! UDP and TCP across a bench: counts, bytes, conservation, and the kernel's word for it.

mod common;

use std::time::Duration;

use link::Direction;
use pump::{Fate, Probes, Side, Window};

/// What the tap says must be what the kernel counted at all four interface ends.
fn agrees_with_the_kernel(window: &Window) {
    let i = &window.interfaces;
    for (totals, from, link_from, link_to, to) in [
        (&window.up, i.client, i.link_client, i.link_server, i.server),
        (
            &window.down,
            i.server,
            i.link_server,
            i.link_client,
            i.client,
        ),
    ] {
        let (sent, delivered) = (totals.sent.total(), totals.delivered.total());
        assert_eq!(sent.packets, from.tx_packets);
        assert_eq!(sent.packets, link_from.rx_packets);
        assert_eq!(delivered.packets, link_to.tx_packets);
        assert_eq!(delivered.packets, to.rx_packets);
        assert_eq!(sent.bytes + 14 * sent.packets, from.tx_bytes);
        assert_eq!(delivered.bytes + 14 * delivered.packets, to.rx_bytes);
    }
}

fn nothing_foreign(window: &Window) {
    assert_eq!(
        window.foreign_drops.total(),
        0,
        "{:?}",
        window.foreign_drops
    );
    for totals in [&window.up, &window.down] {
        assert_eq!(
            (totals.foreign_frames, totals.oversize_frames),
            (0, 0),
            "{totals:?}"
        );
    }
}

#[test]
fn probes_take_the_delay_and_are_counted_at_both_ends() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(10), 1).unwrap();
    for direction in [Direction::Up, Direction::Down] {
        bench.begin().unwrap();
        let probes = Probes {
            direction,
            count: 200,
            spacing_ns: 1_000_000,
            ip_bytes: 200,
        };
        let table = bench.probe(&probes).unwrap();
        let window = bench.end().unwrap();
        assert_eq!(table.len(), 200);
        for probe in &table {
            assert!(probe.delay_ns().expect("nothing is lost") >= 10_000_000);
        }
        let totals = window.totals(direction);
        assert_eq!(
            (totals.sent.udp.packets, totals.sent.udp.bytes),
            (200, 40_000)
        );
        assert_eq!(totals.delivered, totals.sent);
        assert_eq!((totals.in_flight(), totals.lateness.packets), (0, 200));
        nothing_foreign(&window);
        agrees_with_the_kernel(&window);
        let tap = bench.tap().unwrap();
        assert_eq!(tap.len(), 200);
        for record in &tap {
            assert_eq!(
                (record.direction, record.fate),
                (direction, Fate::Delivered)
            );
            assert!(record.departure_ns >= record.arrival_ns + 10_000_000);
        }
    }
}

#[test]
fn a_tcp_transfer_crosses_whole_over_both_families() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(5), 1).unwrap();
    for (listen, address) in [
        ("0.0.0.0:443", "198.18.0.2:443"),
        ("[::]:444", "[2001:2::2]:444"),
    ] {
        let (server, mut said_by_server) = common::serve(&mut bench, listen);
        bench.begin().unwrap();
        let fetch = common::spawn_peer(&mut bench, Side::Client, &["fetch", address, "3000000"]);
        let said = common::output(fetch);
        common::expect_line(&mut said_by_server, "served");
        assert!(bench.settle(Duration::from_secs(5)).unwrap());
        let window = bench.end().unwrap();
        assert!(said.starts_with("3000000 "), "{said}");
        assert!(window.down.delivered.tcp.bytes > 3_000_000, "{window:?}");
        assert_eq!(window.up.sent.udp.packets, 0);
        nothing_foreign(&window);
        agrees_with_the_kernel(&window);
        assert!(
            window.client.cpu_ns > 0 && window.server.cpu_ns > 0,
            "{window:?}"
        );
        drop(server);
    }
}
