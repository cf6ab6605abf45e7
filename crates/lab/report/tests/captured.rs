//! What captures made elsewhere show, in every format. All figures are invented.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use capture::{
    CaptureFacts, ClockFacts, ConnectionFacts, End, Exchange, Explained, LeftOut, PartTime,
};
use explain::Part;
use record::{CallPath, PacketFate, PacketKind, PathPacket, PathStep};
use report::captured;

const MS: u64 = 1_000_000;

fn golden(file: &str, actual: &str) {
    testing::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), actual);
}

fn exchange(number: usize, start_ms: u64, parts: &[(Part, u64)]) -> Exchange {
    let parts = parts.iter().map(|&(part, ms)| PartTime {
        part,
        ns: ms * MS,
        round_trips: part.is_round_trip().then(|| ms as f64 / 50.0),
    });
    let parts: Vec<PartTime> = parts.collect();
    Exchange {
        number,
        start_ns: start_ms * MS,
        duration_ns: parts.iter().map(|time| time.ns).sum(),
        request_bytes: 238,
        response_bytes: 2_933,
        parts,
        path: None,
    }
}

fn connection(end: End) -> ConnectionFacts {
    ConnectionFacts {
        client: "10.0.0.1:4000".to_owned(),
        server: "[2001:db8::2]:443".to_owned(),
        captured_at: end,
        not_explained: None,
        rtt_ns: 50 * MS,
        packets: 357,
        lost: None,
        copies: None,
        missed: [0; 2],
        missing_bytes: [0; 2],
        seen_twice: 0,
        has_offload: false,
        lacks_payload: false,
        lacks_options: false,
        unanswered_bytes: 0,
        exchanges: Vec::new(),
    }
}

/// Returns what two captures show, with all that can limit it.
fn two() -> Explained {
    let first = exchange(
        1,
        0,
        &[
            (Part::TcpHandshake, 50),
            (Part::TlsHandshake, 51),
            (Part::Exchange, 52),
            (Part::LinkBusy, 2),
            (Part::Client, 1),
            (Part::Server, 80),
        ],
    );
    let capture = |file: &str| CaptureFacts {
        file: file.to_owned(),
        packets: 400,
    };
    let packet = |number, up, kind| PathPacket {
        number,
        up,
        arrival_ns: 0,
        payload_bytes: 0,
        offset: None,
        kind,
        fate: PacketFate::Delivered,
        copy: false,
    };
    let step = |from: u64, to: u64, packet| PathStep {
        part: "tcp_handshake".to_owned(),
        from_ns: from * MS,
        to_ns: to * MS,
        packet: Some(packet),
    };
    let path = CallPath {
        steps: vec![
            step(0, 25, packet(0, true, Some(PacketKind::Syn))),
            step(25, 50, packet(1, false, Some(PacketKind::Syn))),
        ],
        left_out: 3,
    };
    Explained {
        format: 1,
        captures: vec![capture("client.pcap"), capture("server.pcap")],
        clock: Some(ClockFacts {
            server_ahead_ns: -1_500_000,
            least_rtt_ns: 50 * MS,
        }),
        connections: vec![ConnectionFacts {
            lost: Some(2),
            missed: [1, 3],
            missing_bytes: [0, 1_448],
            seen_twice: 4,
            has_offload: true,
            lacks_options: true,
            unanswered_bytes: 93,
            exchanges: vec![
                Exchange {
                    path: Some(path),
                    ..first
                },
                exchange(2, 900, &[(Part::Exchange, 50), (Part::Unexplained, 7)]),
            ],
            ..connection(End::Both)
        }],
        left_out: LeftOut {
            udp_packets: 20,
            malformed_packets: 1,
            in_one_capture: 1,
            ..LeftOut::default()
        },
        packets: vec![[Some(1), Some(1)], [Some(2), None]],
    }
}

/// Returns what one capture shows.
fn one() -> Explained {
    let reason = "the SYN was answered after 30.000 ms and the SYN-ACK after 20.000 ms";
    Explained {
        captures: vec![CaptureFacts {
            file: "client.pcap".to_owned(),
            packets: 400,
        }],
        clock: None,
        connections: vec![
            ConnectionFacts {
                copies: Some(1),
                lacks_payload: true,
                exchanges: vec![exchange(
                    1,
                    0,
                    &[(Part::Exchange, 50), (Part::Unexplained, 80)],
                )],
                ..connection(End::Client)
            },
            ConnectionFacts {
                not_explained: Some(reason.to_owned()),
                ..connection(End::Unknown)
            },
        ],
        left_out: LeftOut::default(),
        ..two()
    }
}

#[test]
fn layouts() {
    let (two, one) = (two(), one());
    golden("tests/golden/captured-100.txt", &captured::human(&two, 100));
    golden(
        "tests/golden/captured-one-100.txt",
        &captured::human(&one, 100),
    );
    golden("tests/golden/captured.md", &captured::markdown(&two));
    golden(
        "tests/golden/captured-path.txt",
        &captured::path(&two).unwrap(),
    );
    golden(
        "tests/golden/captured-path.md",
        &captured::path_markdown(&two).unwrap(),
    );
    let path = captured::path_csv(&two).unwrap();
    let row = "10.0.0.1:4000,[2001:db8::2]:443,1,25000000,50000000,tcp_handshake,down,0,2,\r\n";
    assert!(path.ends_with(row), "{path}");
    let formats = [captured::path, captured::path_markdown, captured::path_csv];
    for format in formats {
        assert_eq!(format(&one), None);
    }
    let csv = captured::csv(&two);
    let row =
        "10.0.0.1:4000,[2001:db8::2]:443,1,0,236000000,238,2933,tls_handshake,51000000,1.020\r\n";
    assert!(csv.contains(row), "{csv}");
    assert!(csv.contains(",server,80000000,\r\n"), "{csv}");
}

#[test]
fn json_is_as_its_schema_says() {
    let schema = captured::schema();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    golden("../../../docs/why-pcap.schema.json", &text);
    for explained in [two(), one()] {
        let json = serde_json::from_str(&captured::json(&explained)).unwrap();
        testing::assert_valid("captures", &json, &schema);
    }
}
