//! UDP and TCP across a bench: packet and byte counts, checked against the kernel's counters.

mod common;

use std::io::Read;
use std::process::Command;
use std::time::Duration;

use link::tap::Fate;
use link::window::Window;
use link::{Cause, Direction, LossSpec, Network, PathSpec, QueueSpec, RateSpec};
use pump::{Side, SocketKind};

use common::prober::{Probe, Probes, probe};

/// A deadline against hanging: the networks delay packets by 5 ms at most.
const SETTLE_WITHIN: Duration = Duration::from_secs(5);
/// What tshark calls a packet that came before its cause or out of order.
const TCP_FAULTS: &str = "tcp.analysis.out_of_order or tcp.analysis.retransmission \
    or tcp.analysis.spurious_retransmission or tcp.analysis.fast_retransmission \
    or tcp.analysis.lost_segment or tcp.analysis.ack_lost_segment";

/// Asserts that the window's counts equal the kernel's at all four interfaces.
fn assert_kernel_agrees(window: &Window) {
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
        // A veth counts packets to a NAPI without the Ethernet header, at both ends.
        let with_header = delivered.bytes + 14 * delivered.packets;
        assert_eq!(link_to.tx_bytes, to.rx_bytes);
        assert!(
            [delivered.bytes, with_header].contains(&to.rx_bytes),
            "{to:?}"
        );
    }
}

fn assert_nothing_foreign(window: &Window) {
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
fn probes_take_the_delay_and_are_counted() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(10), 1).unwrap();
    for direction in [Direction::Up, Direction::Down] {
        bench.begin_window().unwrap();
        let probes = Probes {
            direction,
            count: 200,
            spacing_ns: 1_000_000,
            ip_bytes: 200,
        };
        let table = probe(&mut bench, &probes).unwrap();
        let window = bench.end_window().unwrap();
        assert_eq!(table.len(), 200);
        for probe in &table {
            assert!(probe.delay_ns().expect("this network loses nothing") >= 10_000_000);
        }
        let totals = window.totals(direction);
        assert_eq!(
            (totals.sent.udp.packets, totals.sent.udp.bytes),
            (200, 40_000)
        );
        assert_eq!(totals.delivered, totals.sent);
        assert_eq!((totals.in_flight(), totals.lateness.packets), (0, 200));
        assert_nothing_foreign(&window);
        assert_kernel_agrees(&window);
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
fn tcp_transfer_completes_over_ipv4_and_ipv6() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(5), 1).unwrap();
    for (listen, address) in [
        ("0.0.0.0:443", "198.18.0.2:443"),
        ("[::]:444", "[2001:2::2]:444"),
    ] {
        let (_server, mut server_output) = common::serve(&mut bench, listen);
        bench.begin_window().unwrap();
        let fetch = common::spawn_peer(&mut bench, Side::Client, &["fetch", address, "3000000"]);
        let output = common::output(fetch);
        common::expect_line(&mut server_output, "served");
        assert!(bench.settle(SETTLE_WITHIN).unwrap());
        let window = bench.end_window().unwrap();
        assert!(output.starts_with("3000000 "), "{output}");
        assert!(window.down.delivered.tcp.bytes > 3_000_000, "{window:?}");
        assert_eq!(window.up.sent.udp.packets, 0);
        assert_nothing_foreign(&window);
        assert_kernel_agrees(&window);
        assert!(
            window.client.cpu_ns > 0 && window.server.cpu_ns > 0,
            "{window:?}"
        );
        if bench
            .facts()
            .kernel_threads
            .iter()
            .all(|names| !names.is_empty())
            && std::path::Path::new("/proc/2/comm").exists()
        {
            // Only these threads process received packets.
            let kernel = [window.client.kernel_cpu_ns, window.server.kernel_cpu_ns];
            assert!(
                kernel.iter().all(|ns| ns.is_some_and(|ns| ns > 0)),
                "{kernel:?}"
            );
        }
    }
}

#[test]
fn udp_bursts_are_split_into_packets_with_valid_checksums() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    bench.set_network(&common::delay_ms(1), 1).unwrap();
    bench.set_capture(1 << 20).unwrap();
    for (to, ip_bytes) in [("198.18.0.2:9", 1228), ("[2001:2::2]:9", 1248)] {
        bench.begin_window().unwrap();
        let burst = common::spawn_peer(&mut bench, Side::Client, &["burst", to, "1200", "10"]);
        common::output(burst);
        assert!(bench.settle(SETTLE_WITHIN).unwrap());
        let window = bench.end_window().unwrap();
        // Nothing listens, so an ICMP error comes back, which is not foreign.
        assert_nothing_foreign(&window);
        assert_kernel_agrees(&window);
        assert_eq!(
            (window.up.sent.udp.packets, window.up.sent.udp.bytes),
            (10, 10 * ip_bytes)
        );
        let tap = bench.tap().unwrap();
        let sent: Vec<_> = tap.iter().filter(|r| r.protocol == 17).collect();
        assert!(
            sent.iter()
                .all(|r| (r.payload_bytes, r.dst_port) == (1200, 9)),
            "{sent:?}"
        );

        for side in Side::BOTH {
            let (mut file, missed) = bench.capture(side).unwrap();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            let frames = frames(&bytes);
            let valid = frames
                .iter()
                .filter(|frame| udp_checksum_is_valid(frame) == Some(true));
            assert_eq!((missed, valid.count()), (0, 10), "{side:?}");
        }
    }
}

#[test]
fn packets_that_a_receiver_does_not_read_are_its_own_drops() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let to = "198.18.0.2:9";
    let address = to.parse().unwrap();
    let _never_read = bench.bind(Side::Server, SocketKind::Udp, address).unwrap();
    bench.begin_window().unwrap();
    for _ in 0..20 {
        let burst = common::spawn_peer(&mut bench, Side::Client, &["burst", to, "1200", "50"]);
        common::output(burst);
    }
    assert!(bench.settle(SETTLE_WITHIN).unwrap());
    let window = bench.end_window().unwrap();
    assert_nothing_foreign(&window);
    // 1000 datagrams of 1.2 kB against a buffer of 208 KiB.
    let drops = window.endpoint_receive_drops;
    assert!((500..1000).contains(&drops), "{drops}");
}

#[test]
fn tshark_finds_no_fault_in_a_clean_download_and_agrees_with_the_tap() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let Some(tshark) = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("tshark"))
        .find(|path| path.exists())
    else {
        return testing::skip("tshark is missing: apt-get install tshark");
    };
    // At a rate, since packets that a sender sends from two cores at once may overtake each other
    // before they reach the link; and with a queue that holds the whole download.
    let path = PathSpec {
        rate: RateSpec::constant(50_000_000),
        queue: QueueSpec {
            time_ns: Some(1_000_000_000),
            ..QueueSpec::default()
        },
        delay_ns: 5_000_000,
        ..PathSpec::default()
    };
    bench.set_network(&common::network(path), 1).unwrap();
    bench.set_capture(16 << 20).unwrap();
    let (_server, _output) = common::serve(&mut bench, "0.0.0.0:443");
    bench.begin_window().unwrap();
    let fetch = ["fetch", "198.18.0.2:443", "3000000"];
    common::output(common::spawn_peer(&mut bench, Side::Client, &fetch));
    assert!(bench.settle(SETTLE_WITHIN).unwrap());
    bench.end_window().unwrap();
    let tap = bench.tap().unwrap();

    let dir = std::env::temp_dir().join(format!("commute-capture-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    for side in Side::BOTH {
        let file = dir.join(side.name());
        let (mut capture, missed) = bench.capture(side).unwrap();
        assert_eq!(missed, 0);
        std::io::copy(&mut capture, &mut std::fs::File::create(&file).unwrap()).unwrap();
        let run = |args: &[&str]| {
            let output = Command::new(&tshark)
                // Whose settings may not be readable.
                .env("HOME", &dir)
                .arg("-r")
                .arg(&file)
                .args(args)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {errors}");
            String::from_utf8(output.stdout).unwrap()
        };
        let faults = run(&["-Y", TCP_FAULTS]);
        assert_eq!(faults, "", "at the {}'s end", side.name());
        // Nothing is lost, so that both ends see every packet.
        let lengths = run(&["-T", "fields", "-e", "ip.len"]);
        let lengths: Vec<u64> = lengths.lines().map(|l| l.parse().unwrap()).collect();
        let bytes: u64 = tap.iter().map(|r| u64::from(r.ip_bytes)).sum();
        assert_eq!(
            (lengths.len(), lengths.iter().sum::<u64>()),
            (tap.len(), bytes)
        );
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Returns the frames of a pcapng file.
fn frames(file: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    let mut rest = file;
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four"));
        if word(0) == 6 {
            frames.push(&rest[28..28 + word(20) as usize]);
        }
        rest = &rest[word(4) as usize..];
    }
    frames
}

/// Returns whether a UDP datagram's checksum is valid; `None` for other frames. A reference
/// implementation: adds up pseudo header and datagram in 16-bit words.
fn udp_checksum_is_valid(frame: &[u8]) -> Option<bool> {
    let (protocol, addresses, udp) = match frame[12..14] {
        [0x08, 0x00] => (frame[23], &frame[26..34], &frame[34..]),
        [0x86, 0xdd] => (frame[20], &frame[22..54], &frame[54..]),
        _ => return None,
    };
    if protocol != 17 {
        return None;
    }
    let mut words = [addresses, udp].concat();
    words.resize(words.len().next_multiple_of(2), 0);
    let sum: u32 = words
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let mut sum = sum + 17 + udp.len() as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    Some(sum == 0xffff && udp[6..8] != [0, 0])
}

#[test]
fn lost_packets_are_counted_at_the_sender_only() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let loss = LossSpec::Iid { ppb: 200_000_000 };
    let lossy = common::network(PathSpec {
        loss: Some(loss),
        ..PathSpec::default()
    });
    bench.set_network(&lossy, 7).unwrap();
    bench.begin_window().unwrap();
    let probes = Probes {
        direction: Direction::Up,
        count: 500,
        // So far apart that the receiver's buffer holds all that come while it waits for a core.
        spacing_ns: 1_000_000,
        ip_bytes: 60,
    };
    // The prober waits for late probes, so the link is empty when it returns.
    let table = probe(&mut bench, &probes).unwrap();
    let window = bench.end_window().unwrap();
    let lost = table.iter().filter(|p| p.received_ns.is_none()).count() as u64;
    assert_eq!(
        (window.up.dropped.loss, window.up.dropped.total()),
        (lost, lost)
    );
    // Five standard deviations of a binomial: 5 * sqrt(500 * 0.2 * 0.8) = 44.7.
    assert!(lost.abs_diff(100) <= 45, "{lost}");
    assert_eq!(window.up.sent.udp.packets, 500);
    assert_eq!(window.up.delivered.udp.packets, 500 - lost);
    assert_eq!(window.up.in_flight(), 0);
    assert_kernel_agrees(&window);
    let tap = bench.tap().unwrap();
    let dropped = tap
        .iter()
        .filter(|r| r.fate == Fate::Dropped(Cause::Loss))
        .count() as u64;
    assert_eq!(dropped, lost);

    // The same seed drops the same packets, whenever they arrive.
    bench.set_network(&lossy, 7).unwrap();
    let second = probe(&mut bench, &probes).unwrap();
    let fates = |table: &[Probe]| {
        table
            .iter()
            .map(|p| p.received_ns.is_some())
            .collect::<Vec<_>>()
    };
    assert_eq!(fates(&table), fates(&second));
}

#[test]
fn mtu_limits_both_ends() {
    let Some(mut bench) = common::bench() else {
        return;
    };
    let (_server, _output) = common::serve(&mut bench, "[::]:443");
    for (mtu, address) in [(1280, "198.18.0.2:443"), (1400, "[2001:2::2]:443")] {
        bench
            .set_network(
                &Network {
                    mtu,
                    ..common::delay_ms(1)
                },
                1,
            )
            .unwrap();
        bench.begin_window().unwrap();
        let fetch = common::spawn_peer(&mut bench, Side::Client, &["fetch", address, "100000"]);
        common::output(fetch);
        let window = bench.end_window().unwrap();
        assert_nothing_foreign(&window);
        let largest = bench
            .tap()
            .unwrap()
            .iter()
            .map(|r| u32::from(r.ip_bytes))
            .max();
        assert_eq!(largest, Some(mtu));
    }
}

#[test]
fn all_tests_pass_without_privileges() {
    common::rerun_without_privileges("all_tests_pass_without_privileges");
}
