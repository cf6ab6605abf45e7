//! Tests of the figures that the server reports of its sending.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Cell, ConnectionSettings, PacketSeries, RunData, Sender};
use report::{Sending, Spread, html, human, summarise};

/// Gives every cell two packets that the link dropped, and one sender for each connection over TCP
/// and over QUIC. The sender over QUIC, like quinn, does not report spurious losses.
fn with_senders(tcp: &Sender, quic: impl Fn(&Cell) -> Sender) -> RunData {
    let invented = data(&quickstart(), &["true-metro"], 10, 1);
    let mut cells = invented.cells().to_vec();
    for cell in &mut cells {
        let quic = quic(cell);
        for connection in &mut cell.connections {
            connection.packets = vec![PacketSeries {
                full_size: true,
                sent: 400,
                lost: vec![3, 99],
                ..PacketSeries::default()
            }];
            connection.sender = Some(match connection.transport.as_str() {
                "quic" => quic.clone(),
                _ => tcp.clone(),
            });
        }
    }
    RunData::new(invented.run().clone(), cells).unwrap()
}

fn sender(lost: u64, spurious: Option<u64>) -> Sender {
    Sender {
        sent_packets: Some(400),
        lost_packets: Some(lost),
        spurious_packets: spurious,
        initial_window_bytes: Some(12_000),
        ..Sender::default()
    }
}

fn of_arm(data: &RunData, name: &str) -> Sending {
    let summary = summarise(data);
    let mut arms = summary.networks[0].arms.iter();
    let arm = arms.find(|arm| arm.name == name).unwrap();
    arm.sending.clone()
}

fn spread(fewest: usize, median: f64, most: usize) -> Option<Spread> {
    Some(Spread {
        fewest,
        median,
        most,
    })
}

#[test]
fn packets_that_arrived_are_told_or_those_beyond_what_the_link_dropped() {
    // One block in ten is worse.
    let quic = |cell: &Cell| sender(if cell.block == 7 { 90 } else { 52 }, None);
    let data = with_senders(&sender(2, Some(0)), quic);
    let over_quic = of_arm(&data, "quinn h3");
    assert_eq!(over_quic.lost_packets, spread(52, 52.0, 90));
    assert_eq!(over_quic.dropped_packets, spread(2, 2.0, 2));
    assert_eq!(over_quic.spurious_packets, spread(50, 50.0, 88));
    assert_eq!(over_quic.timeouts, None);
    assert_eq!(
        of_arm(&data, "hyper h2").spurious_packets,
        spread(0, 0.0, 0)
    );
}

#[test]
fn reader_sees_where_reordering_was_taken_for_loss() {
    let data = with_senders(&sender(2, Some(0)), |_| sender(52, None));
    let summary = summarise(&data);
    let remark = "in the median cell its server took 52 packets for lost, of which 50 had arrived";
    let text = human(&summary, 160, false);
    assert!(text.contains(remark), "{text}");
    assert!(text.contains("52 · 2 · 50 · -"), "{text}");
    assert!(text.contains("2 · 2 · 0 · -"), "{text}");
    assert_eq!(text.matches("packets for lost, of which").count(), 1);
    let page = html(&summary, &data);
    assert!(page.contains("Declared lost but arrived") && page.contains(remark));
}

#[test]
fn after_a_move_nobody_knows_what_the_link_dropped_of_a_connection() {
    let data = with_senders(&sender(2, Some(0)), |_| sender(52, None));
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        cell.moves.push(record::Move::default());
    }
    let data = RunData::new(data.run().clone(), cells).unwrap();
    let moved = of_arm(&data, "quinn h3");
    assert_eq!(moved.lost_packets, spread(52, 52.0, 52));
    assert_eq!(
        (moved.dropped_packets, moved.spurious_packets),
        (None, None)
    );
}

#[test]
fn set_up_is_that_of_full_handshakes() {
    let data = with_senders(&sender(2, None), |_| sender(2, None));
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        let full = &mut cell.connections[0];
        full.chain_bytes = 2290 + u64::from(cell.block);
        full.first_flight_bytes = Some(3000);
        let resumed = ConnectionSettings {
            resumed: true,
            chain_bytes: 0,
            first_flight_bytes: Some(300),
            ..full.clone()
        };
        cell.connections.push(resumed);
    }
    let data = RunData::new(data.run().clone(), cells).unwrap();
    let summary = summarise(&data);
    let setup = &summary.networks[0].arms[0].setup;
    assert_eq!(setup.initial_window_bytes, spread(12_000, 12_000.0, 12_000));
    assert_eq!(setup.chain_bytes, spread(2290, 2294.5, 2299));
    assert_eq!(setup.first_flight_bytes, spread(3000, 3000.0, 3000));
    let text = human(&summary, 160, false);
    assert!(text.contains("12000 B · 2294 B · 3000 B"), "{text}");
    assert!(html(&summary, &data).contains("2290 to 2299<"));
}

#[test]
fn servers_that_tell_nothing_have_no_figures() {
    let data = data(&quickstart(), &["true-metro"], 10, 1);
    assert_eq!(of_arm(&data, "quinn h3"), Sending::default());
    let summary = summarise(&data);
    assert!(!human(&summary, 160, false).contains("declared lost"));
    assert!(!html(&summary, &data).contains("Declared lost"));
}
